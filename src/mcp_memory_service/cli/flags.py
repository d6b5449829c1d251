"""Flags that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def storage_flags(command: F) -> F:
    """Flags that every command takes."""
    flags = (
        click.option("--sqlite-path", type=click.Path(path_type=Path), help="Database file [MCP_MEMORY_SQLITE_PATH]"),
        click.option("--storage-backend", help="sqlite_vec or qdrant [MCP_MEMORY_STORAGE_BACKEND]"),
        click.option("--qdrant-url", help="Address of the Qdrant server [MCP_MEMORY_QDRANT_URL]"),
        click.option("--log-level", help="DEBUG, INFO, WARNING or ERROR [MCP_MEMORY_LOG_LEVEL]"),
    )
    for flag in reversed(flags):
        command = flag(command)
    return command


def ranking_flags(command: F) -> F:
    """Flags of the commands that search or serve searches."""
    flags = (
        click.option("--hybrid-alpha", type=float, help="0 = tags only, 1 = vectors only [MCP_MEMORY_HYBRID_ALPHA]"),
        click.option("--recency-decay", type=float, help="Per day, 0 = off [MCP_MEMORY_RECENCY_DECAY]"),
    )
    for flag in reversed(flags):
        command = flag(command)
    return command


def json_flag(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, in the shape of the REST answer")(command)


def plain_json_flag(command: F) -> F:
    """For commands that REST has no like of."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON")(command)


def paging_flags(command: F) -> F:
    for flag in (
        click.option(
            "--limit", "page_size", type=int, default=10, show_default=True, help="Results on a page, at most 100"
        ),
        click.option("--page", type=int, default=1, show_default=True, help="Page, from 1"),
    ):
        command = flag(command)
    return command


def filter_flags(command: F) -> F:
    flags = (
        click.option("--tag", "tags", multiple=True, help="Only memories with this tag; may be repeated"),
        click.option("--tag-match", type=click.Choice(["any", "all"]), default="any", show_default=True),
        click.option("--type", "memory_type", help="Only memories of this type"),
        click.option("--after", help="Created at or after this moment (ISO 8601)"),
        click.option("--before", help="Created before this moment (ISO 8601)"),
    )
    for flag in reversed(flags):
        command = flag(command)
    return command
