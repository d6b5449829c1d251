"""Flags that several commands share, and the values that commands are handed in their place."""

import json
import re
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource
from pydantic import BaseModel, ValidationError

from ..config import EnvFile, env_file_to_read, load_settings
from ..errors import InvalidInput
from ..schemas import explained
from .logs import log_to_stderr, logger

M = TypeVar("M", bound=BaseModel)

MAX_LIMIT = 10_000
"""A hundred pages of the service, each a search of its own; to have everything there is export."""

Command: TypeAlias = Callable[..., None]
Flag: TypeAlias = Callable[[Command], Command]


def together(*flags: Flag) -> Flag:
    """Several flags as one; the help shows them in the order given."""

    def decorated(command: Command) -> Command:
        for flag in reversed(flags):
            command = flag(command)
        return command

    return decorated


STORAGE: Mapping[str, Flag] = {
    "sqlite_path": click.option(
        "--sqlite-path", type=click.Path(path_type=Path), help="Database file [MCP_MEMORY_SQLITE_PATH]"
    ),
    "storage_backend": click.option("--storage-backend", help="sqlite_vec or qdrant [MCP_MEMORY_STORAGE_BACKEND]"),
    "qdrant_url": click.option("--qdrant-url", help="Address of the Qdrant server [MCP_MEMORY_QDRANT_URL]"),
    "namespace": click.option("--namespace", help="Namespace to act in [MCP_MEMORY_NAMESPACE]"),
    "log_level": click.option("--log-level", help="DEBUG, INFO, WARNING or ERROR [MCP_MEMORY_LOG_LEVEL]"),
}
RANKING: Mapping[str, Flag] = {
    "ranking": click.option("--ranking", help="measured or classic [MCP_MEMORY_RANKING]"),
    "hybrid_alpha": click.option(
        "--hybrid-alpha", type=float, help="0 = tags only, 1 = vectors only [MCP_MEMORY_HYBRID_ALPHA]"
    ),
    "recency_decay": click.option("--recency-decay", type=float, help="Per day, 0 = off [MCP_MEMORY_RECENCY_DECAY]"),
}
RERANKING: Mapping[str, Flag] = {
    "rerank_backend": click.option("--rerank-backend", help="off, onnx or http [MCP_MEMORY_RERANK_BACKEND]"),
    "rerank_folder": click.option(
        "--rerank-folder", type=click.Path(path_type=Path), help="Cross-encoder to use [MCP_MEMORY_RERANK_FOLDER]"
    ),
}
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, in the shape of the REST answer")
PLAIN_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON")
"""For commands that REST has no like of."""


def tag_option(help_text: str, name: str = "--tag", field: str = "tags") -> Flag:
    """Tags, given one by one or with commas between them; a comma that is part of a tag has a backslash before it."""
    return click.option(
        name, field, multiple=True, callback=_tags, help=rf"{help_text}; a,b are two, a\,b is one; may be repeated"
    )


def _tags(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(tag for text in given for tag in _split_at_commas(text))


def _split_at_commas(text: str) -> list[str]:
    """Of a text without any tag, one that is empty, for the service to refuse."""
    parts = [part.replace("\\,", ",") for part in re.split(r"(?<!\\),", text)]
    return [part for part in parts if part.strip()] or [""]


def json_object(_context: click.Context, _option: click.Parameter, text: str | None) -> object:
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--metadata is not valid JSON: {error}", reason="malformed_json") from None


def _metadata_filter(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """`key=value`, where the value is JSON if it can be read as such and else a text; `key` asks only for the key."""
    return {key: _value(text) if equals else None for key, equals, text in (each.partition("=") for each in given)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _whole_path(_context: click.Context, _option: click.Parameter, path: str | None) -> str | None:
    """As files are known by, whichever folder a command is run in."""
    return path and Path(path).expanduser().resolve().as_posix()


FILTERS = together(
    tag_option("Only memories with this tag"),
    click.option("--tag-match", type=click.Choice(["any", "all"]), default="any", show_default=True),
    click.option("--type", "types", multiple=True, help="Only memories of this type; may be repeated"),
    click.option("--after", help="Created at or after this time: ISO 8601, 7d, last week, 2026-05"),
    click.option("--before", help="Created before this time began: ISO 8601, 7d, yesterday, 2026-05"),
    click.option("--session", help="Only memories of this conversation"),
    click.option("--source", help="Only memories that this one wrote, or of this file"),
    click.option("--scope", metavar="PATH", callback=_whole_path, help="Only what comes from this folder or file"),
    click.option("--kind", "kinds", multiple=True, help="Only memory, note, code, decision or error; may be repeated"),
    click.option(
        "--metadata",
        multiple=True,
        metavar="KEY[=VALUE]",
        callback=_metadata_filter,
        help="Only memories with this at the top level of their metadata; may be repeated",
    ),
)
"""Which memories are meant."""
LIFE_FILTERS = together(
    click.option("--pinned/--not-pinned", default=None, help="Only those that are pinned, or that are not"),
    click.option("--expired", is_flag=True, help="Only those that have expired, in place of all others"),
)
LISTING = together(
    click.option("--page", type=int, default=1, show_default=True, help="Page, from 1"),
    click.option("--limit", type=click.IntRange(1, MAX_LIMIT), default=10, show_default=True, help="Results on a page"),
    FILTERS,
    click.option("--include-superseded", is_flag=True, help="Also what another memory has taken the place of"),
)
"""Which memories may be shown, and which page of them."""
EXPECTED = click.option(
    "--expect",
    "expected_count",
    type=int,
    metavar="N",
    help="Do it if N memories match; without it nothing is changed and their number is shown",
)


def with_settings(flags: Mapping[str, Flag] = STORAGE, *, env_of_current_folder: bool = False) -> Flag:
    """Adds flags that are settings, and hands the command the `settings` that they make."""

    def decorated(command: Command) -> Command:
        @wraps(command)
        def called(**options: Any) -> None:
            env_file = chosen_env_file(of_current_folder=env_of_current_folder)
            settings = load_settings({name: options[name] for name in flags}, env_file)
            log_to_stderr(settings, env_file)
            if env_of_current_folder and env_file:
                logger.info("Settings are read from %s", env_file.path)
            command(settings=settings, **{name: value for name, value in options.items() if name not in flags})

        return together(*flags.values())(called)

    return decorated


def chosen_env_file(*, of_current_folder: bool = False) -> EnvFile | None:
    """That of --env-file, else the user's own. The current folder is one that somebody else may have filled: only a
    command that is started in a folder of the operator's choice reads the file there."""
    named = click.get_current_context().find_root().params.get("env_file")
    return env_file_to_read(named, of_current_folder=of_current_folder)


def parsed_as(shape: type[BaseModel]) -> Flag:
    """Hands the command the options named as fields of a shape as that shape, in `asked`; what is not given has the
    default of the shape."""

    def decorated(command: Command) -> Command:
        @wraps(command)
        def called(**options: Any) -> None:
            own = {name: value for name, value in options.items() if name not in shape.model_fields}
            source = click.get_current_context().get_parameter_source
            given = {name for name in options.keys() - own.keys() if source(name) is not ParameterSource.DEFAULT}
            command(asked=parsed(shape, {name: options[name] for name in given}), **own)

        return called

    return decorated


def parsed(shape: type[M], fields: Mapping[str, Any]) -> M:
    try:
        return shape(**fields)
    except ValidationError as error:
        raise InvalidInput(explained(error), reason="validation_failed") from None
