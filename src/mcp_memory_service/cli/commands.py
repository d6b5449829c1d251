"""The commands that do one thing and end."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click
from pydantic import BaseModel, ValidationError

from ..bootstrap import open_service
from ..config import Settings, load_settings
from ..errors import InvalidInput, StoreRefused
from ..schemas import ExplainIn, FeedbackIn, ListIn, MemoryIn, PurgeIn, RetrieveIn, StatsOut, StoredOut
from ..services import MemoryService
from .exit_codes import INCOMPLETE, NOT_FOUND
from .logs import log_to_stderr
from .rendering import render_explanation, render_hits, render_memories, render_purged, render_stats

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

SETTING_FLAGS = ("sqlite_path", "storage_backend", "qdrant_url", "log_level", "hybrid_alpha", "recency_decay")


def store_memory(content: str, options: dict[str, Any], *, as_json: bool) -> None:
    settings = settings_from(options)
    text = sys.stdin.read() if content == "-" else content
    fields = _given(options) | {"content": text, "tags": list(options["tags"])}
    if options["metadata"] is not None:
        fields["metadata"] = _json_object(options["metadata"])
    draft = parsed(MemoryIn, fields).draft()
    outcome = _with_service(settings, lambda service: service.store_memory(draft))
    _print(StoredOut.of(outcome), outcome.summary, as_json=as_json)


def search_memories(query: str, options: dict[str, Any], *, as_json: bool) -> None:
    settings = settings_from(options)
    no_tags = options.pop("no_tags")
    if no_tags and options["tags"]:
        raise click.UsageError("--no-tags and --tag exclude each other.")
    tags = [] if no_tags else list(options["tags"]) or None
    explained_hash = options.pop("explained_hash")
    fields = _given(options) | {"query": query, "tags": tags}
    if explained_hash is not None:
        del fields["debug"]
        explained = _with_service(settings, parsed(ExplainIn, fields | {"content_hash": explained_hash}).explain_in)
        _print(explained, render_explanation(explained), as_json=as_json)
        return
    out = _with_service(settings, parsed(RetrieveIn, fields).search_in)
    _print(out, render_hits(out), as_json=as_json)


def list_memories(options: dict[str, Any], *, as_json: bool) -> None:
    settings = settings_from(options)
    asked = parsed(ListIn, _given(options) | {"tags": list(options["tags"])})
    out = _with_service(settings, asked.list_from)
    _print(out, render_memories(out), as_json=as_json)


def delete_memory(content_hash: str, options: dict[str, Any], *, as_json: bool) -> None:
    key = options["idempotency_key"]
    _with_service(settings_from(options), lambda service: service.delete_memory(content_hash, key))
    if as_json:
        click.echo(json.dumps({"content_hash": content_hash, "deleted": True}, indent=2))
    else:
        click.echo(f"Deleted: {content_hash}")


def purge_memories(content_hashes: tuple[str, ...], options: dict[str, Any], *, as_json: bool) -> None:
    settings = settings_from(options)
    if settings.storage_backend == "sqlite_vec" and not settings.sqlite_path.exists():
        raise StoreRefused(f"There is no store at {settings.store}.")
    out = _with_service(settings, parsed(PurgeIn, {"content_hashes": list(content_hashes)}).purge_from)
    _print(out, render_purged(out, len(set(content_hashes))), as_json=as_json)
    if out.state == "pending":
        sys.exit(INCOMPLETE)
    if out.not_found:
        sys.exit(NOT_FOUND)


def record_feedback(query: str, content_hash: str, options: dict[str, Any]) -> None:
    settings = settings_from(options)
    said = parsed(FeedbackIn, options | {"query": query, "content_hash": content_hash})
    _with_service(settings, said.record_in)
    click.echo(f"Noted: {content_hash}")


def show_stats(options: dict[str, Any], *, as_json: bool) -> None:
    out = StatsOut.of(_with_service(settings_from(options), lambda service: service.stats()))
    _print(out, render_stats(out), as_json=as_json)


def settings_from(options: dict[str, Any]) -> Settings:
    """Take the flags that are settings out of the options."""
    settings = load_settings({name: options.pop(name) for name in SETTING_FLAGS if name in options})
    log_to_stderr(settings)
    return settings


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _with_service(settings: Settings, use_case: Callable[[MemoryService], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_service(settings) as service:
            return await use_case(service)

    return asyncio.run(run())


def parsed(shape: type[M], fields: dict[str, Any]) -> M:
    try:
        return shape(**fields)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_input=False))
        raise InvalidInput("; ".join(problems), reason="validation_failed") from None


def _json_object(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--metadata is not valid JSON: {error}", reason="malformed_json") from None


def _print(out: BaseModel, text: str, *, as_json: bool) -> None:
    click.echo(out.model_dump_json(indent=2) if as_json else text)
