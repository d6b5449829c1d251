"""Commands that change what is remembered."""

import json
import sys

import click

from ...access.error_table import ExitCode
from ...config import Settings
from ...errors import InvalidInput
from ...schemas import FeedbackIn, MemoryIn, PurgedOut, StoredOut
from ..flags import JSON, parsed_as, with_settings
from ..local_service import ask
from ..rendering import render_purged, render_stored, show
from ..terminal import say


def _json_object(_context: click.Context, _option: click.Parameter, text: str | None) -> object:
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--metadata is not valid JSON: {error}", reason="malformed_json") from None


def _or_standard_input(_context: click.Context, _argument: click.Parameter, content: str) -> str:
    return sys.stdin.read() if content == "-" else content


@click.command()
@click.argument("content", callback=_or_standard_input)
@click.option("--tag", "tags", multiple=True, help="A name to find it by; may be repeated")
@click.option("--type", "memory_type", help="What kind of memory it is, such as decision or fix")
@click.option("--metadata", help="Any JSON object", callback=_json_object)
@click.option("--created-at", help="When it came about, if not now (ISO 8601)")
@click.option("--source", help="Who or what wrote it")
@JSON
@with_settings()
@parsed_as(MemoryIn)
def store(asked: MemoryIn, settings: Settings, as_json: bool) -> None:
    """Remember CONTENT; - reads it from standard input.

    \b
    Example:
      mcp-memory store "Use port 2333 for rathole" --tag rathole --type decision
    """
    outcome = ask(settings, lambda service: service.store_memory(asked.draft()), may_create=True)
    stored = StoredOut.of(outcome)
    show(stored, render_stored(stored, outcome.summary), as_json=as_json)


@click.command()
@click.argument("content_hash")
@click.option("--idempotency-key", metavar="KEY", help="Makes it safe to run again: with the same KEY it is done once")
@JSON
@with_settings()
def delete(content_hash: str, idempotency_key: str | None, settings: Settings, as_json: bool) -> None:
    """Forget the memory with CONTENT_HASH for good.

    \b
    Example:
      mcp-memory delete 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    ask(settings, lambda service: service.delete_memory(content_hash, idempotency_key))
    show({"content_hash": content_hash, "deleted": True}, f"Deleted: {content_hash}", as_json=as_json)


@click.command()
@click.argument("content_hashes", nargs=-1, metavar="[CONTENT_HASH]...")
@JSON
@with_settings()
def purge(content_hashes: tuple[str, ...], settings: Settings, as_json: bool) -> None:
    """Delete memories so that their bytes are gone from the store's files, log included.

    What was deleted earlier is erased as well. Says `erased` or `pending` (exit code 7: somebody still reads, or the
    disk is full; without arguments it tries again). A memory that is not there is exit code 3. The whole file is
    rewritten. Backups and other copies keep what they hold. `list` and `search` show the hash of each memory.

    \b
    Example:
      mcp-memory purge 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    out = PurgedOut.of(ask(settings, lambda service: service.purge_memories(content_hashes)))
    show(out, render_purged(out, len(set(content_hashes))), as_json=as_json)
    if out.state == "pending":
        sys.exit(ExitCode.INCOMPLETE)
    if out.not_found:
        sys.exit(ExitCode.NOT_FOUND)


@click.command()
@click.argument("query")
@click.argument("content_hash")
@click.option("--useful/--not-useful", required=True, help="Whether this memory answers the query")
@with_settings()
@parsed_as(FeedbackIn)
def feedback(asked: FeedbackIn, settings: Settings) -> None:
    """Note whether the memory with CONTENT_HASH answers QUERY, for eval tune to learn from.

    \b
    Example:
      mcp-memory feedback "rathole port" 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --useful
    """
    ask(settings, lambda service: service.record_feedback(asked.query, asked.content_hash, useful=asked.useful))
    say(f"Noted: {asked.content_hash}")
