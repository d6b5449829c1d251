"""Commands that change what is remembered."""

import sys
from functools import partial

import click

from ...access.error_table import ExitCode
from ...config import Settings
from ...models import SHOWN_DIGITS
from ...schemas import BulkOut, DeleteMatchingIn, FeedbackIn, MemoryIn, PurgedOut, StoredOut
from ...services import MemoryService
from ..flags import EXPECTED, FILTERS, JSON, LIFE_FILTERS, json_object, parsed_as, tag_option, with_settings
from ..local_service import ask
from ..rendering import render_bulk, render_purged, render_stored, show
from ..terminal import say


def or_standard_input(_context: click.Context, _argument: click.Parameter, content: str | None) -> str | None:
    return sys.stdin.read() if content == "-" else content


@click.command()
@click.argument("content", callback=or_standard_input)
@tag_option("A name to find it by")
@click.option("--type", "memory_type", help="What kind of memory it is, such as decision or fix")
@click.option("--metadata", help="Any JSON object", callback=json_object)
@click.option("--created-at", help="When it came about, if not now (ISO 8601)")
@click.option("--source", help="Who or what wrote it")
@click.option("--session", help="The conversation it belongs to")
@click.option("--sequence", type=int, help="Its place within that conversation")
@click.option("--pinned", is_flag=True, help="Give it with every recall of context")
@click.option("--expires-at", help="When it goes out of results: ISO 8601, 30d, tomorrow; it is not deleted")
@click.option("--supersedes", multiple=True, metavar="ID", help="A memory whose place it takes; may be repeated")
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
@click.argument("memory_id", metavar="[ID]", required=False)
@click.option("--idempotency-key", metavar="KEY", help="Makes it safe to run again: with the same KEY it is done once")
@FILTERS
@LIFE_FILTERS
@EXPECTED
@JSON
@with_settings()
@parsed_as(DeleteMatchingIn)
def delete(
    asked: DeleteMatchingIn, memory_id: str | None, idempotency_key: str | None, settings: Settings, as_json: bool
) -> None:
    """Put the memory ID, or all that pass filters, into the trash.

    `mcp-memory trash` shows what is there and brings it back for MCP_MEMORY_TRASH_DAYS days; `purge` is final.

    \b
    Example:
      mcp-memory delete 9f86d081884c
      mcp-memory delete --tag scratch --expect 12
    """
    if memory_id is None:
        if idempotency_key is not None:
            raise click.UsageError("--idempotency-key goes with an ID.")
        if not asked.model_fields_set - {"expected_count"}:
            raise click.UsageError("Name a memory or a filter.")
        use_case = partial(MemoryService.delete_matching, request=asked.request(), expected=asked.expected_count)
        out = BulkOut.of(ask(settings, use_case))
        show(out, render_bulk(out, "deleted", confirmed=asked.expected_count is not None), as_json=as_json)
        return
    if asked.model_fields_set:
        raise click.UsageError("Name a memory or filters, not both.")
    deleted = ask(settings, lambda service: service.delete_memory(memory_id, idempotency_key))
    show({"content_hash": deleted, "deleted": True}, f"Deleted: {deleted[:SHOWN_DIGITS]}", as_json=as_json)


@click.command()
@click.argument("content_hashes", nargs=-1, metavar="[ID]...")
@JSON
@with_settings()
def purge(content_hashes: tuple[str, ...], settings: Settings, as_json: bool) -> None:
    """Delete memories so that their bytes are gone from the store's files, log included.

    All their versions go with them, and what is in the trash. What was deleted earlier is erased as well. Says `erased`
    or `pending` (exit code 7: somebody still reads, or the disk is full; without arguments it tries again). A memory
    that is not there is exit code 3. The whole file is rewritten. Backups and other copies keep what they hold. `list`
    and `search` show the id of each memory.

    \b
    Example:
      mcp-memory purge 9f86d081884c
    """
    out = PurgedOut.of(ask(settings, lambda service: service.purge_memories(content_hashes)))
    show(out, render_purged(out, len(set(content_hashes))), as_json=as_json)
    if out.state == "pending":
        sys.exit(ExitCode.INCOMPLETE)
    if out.not_found:
        sys.exit(ExitCode.NOT_FOUND)


@click.command()
@click.argument("query")
@click.argument("content_hash", metavar="ID")
@click.option("--useful/--not-useful", required=True, help="Whether this memory answers the query")
@with_settings()
@parsed_as(FeedbackIn)
def feedback(asked: FeedbackIn, settings: Settings) -> None:
    """Note whether the memory ID answers QUERY, for eval tune to learn from.

    \b
    Example:
      mcp-memory feedback "rathole port" 9f86d081884c --useful
    """
    ask(settings, lambda service: service.record_feedback(asked.query, asked.content_hash, useful=asked.useful))
    say(f"Noted: {asked.content_hash}")
