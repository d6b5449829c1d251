"""Commands for the life of memories: read, edit, history, trash, expiry, tags, and what to know before a task."""

from collections.abc import Sequence
from functools import partial

import click

from ...config import Settings
from ...models import ListRequest, Purged
from ...schemas import (
    BulkOut,
    ContextOut,
    HistoryOut,
    ListOut,
    MemoryOut,
    PatchIn,
    PurgedOut,
    RetagIn,
    TagsOut,
)
from ...services import BulkOutcome, MemoryListing, MemoryService
from ...services.write.checks import MAX_BATCH
from ..flags import EXPECTED, FILTERS, JSON, LIFE_FILTERS, PLAIN_JSON, json_object, parsed_as, tag_option, with_settings
from ..local_service import ask
from ..rendering import (
    render_bulk,
    render_context,
    render_history,
    render_memory,
    render_purged,
    render_trash,
    show,
)
from .store import or_standard_input


@click.command()
@click.argument("memory_id", metavar="ID")
@JSON
@with_settings()
def get(memory_id: str, settings: Settings, as_json: bool) -> None:
    """Show the memory ID, whole.

    The first 8 digits of an id or more will do; the id of an earlier version shows the one that holds now.

    \b
    Example:
      mcp-memory get 9f86d081884c
    """
    out = MemoryOut.of(ask(settings, lambda service: service.get_memory(memory_id)))
    is_other = not out.content_hash.startswith(memory_id.lower())
    show(out, f"{memory_id} was replaced by:\n" * is_other + render_memory(out), as_json=as_json)


def _or_none(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    return given or None


@click.command()
@click.argument("memory_id", metavar="ID")
@click.argument("content", required=False, callback=or_standard_input)
@tag_option("A tag in place of the old ones")
@click.option("--type", "memory_type", callback=_or_none, help="The new type; empty: none")
@click.option("--metadata", help="JSON object: keys to set; null removes one", callback=json_object)
@click.option("--pinned/--not-pinned", default=None, help="Whether it is given with every recall of context")
@click.option(
    "--expires-at", callback=_or_none, help="When it goes out of results: ISO 8601, 30d, tomorrow; empty: never"
)
@JSON
@with_settings()
@parsed_as(PatchIn)
def edit(asked: PatchIn, memory_id: str, settings: Settings, as_json: bool) -> None:
    """Change the memory ID; with CONTENT (- is standard input) its text becomes that.

    A new text is a new version: it keeps date, tags, metadata and links, the old id leads to it, and the old text stays
    in the history.

    \b
    Example:
      mcp-memory edit 9f86d081884c "Deploys go out on Thursdays"
      mcp-memory edit 9f86d081884c --tag deploy,ops --pinned
    """
    if not asked.model_fields_set:
        raise click.UsageError("Say what to change.")
    memory = ask(settings, lambda service: service.update_memory(memory_id, asked.patch()))
    show(MemoryOut.of(memory), f"Changed: {memory.short_id}", as_json=as_json)


@click.command()
@click.argument("memory_id", metavar="ID")
@JSON
@with_settings()
def history(memory_id: str, settings: Settings, as_json: bool) -> None:
    """Show all versions of the memory ID, and what they took the place of.

    \b
    Example:
      mcp-memory history 9f86d081884c
    """
    out = HistoryOut.of(ask(settings, lambda service: service.memory_history(memory_id)))
    show(out, render_history(out), as_json=as_json)


@click.command()
@click.option("--restore", "memory_id", metavar="ID", help="Bring this one back")
@click.option("--page", type=int, default=1, show_default=True, help="Page, from 1")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Memories on a page")
@JSON
@with_settings()
def trash(memory_id: str | None, page: int, limit: int, settings: Settings, as_json: bool) -> None:
    """Show what was deleted, and bring it back.

    What is older than MCP_MEMORY_TRASH_DAYS days is gone. To erase one at once: mcp-memory purge ID.

    \b
    Example:
      mcp-memory trash
      mcp-memory trash --restore 9f86d081884c
    """
    if memory_id is not None:
        memory = ask(settings, lambda service: service.restore_memory(memory_id))
        show(MemoryOut.of(memory), f"Restored: {memory.short_id}", as_json=as_json)
        return

    async def listed(service: MemoryService) -> MemoryListing:
        await service.empty_trash()
        return await service.list_trash(page, limit)

    out = ListOut.of(ask(settings, listed))
    show(out, render_trash(out, settings.trash_days), as_json=as_json)


@click.command()
@click.option("--purge", is_flag=True, help="Erase them for good")
@JSON
@with_settings()
def expire(purge: bool, settings: Settings, as_json: bool) -> None:
    """Count what has expired, or erase it.

    Expired memories are out of results and lists, and stay until this erases them; `list --expired` shows them.

    \b
    Example:
      mcp-memory expire
      mcp-memory expire --purge
    """
    expired = ask(settings, lambda service: service.delete_matching(ListRequest(expired=True)))
    if not purge or not expired.matched:
        told = f"{expired.matched} memories have expired. To erase them: mcp-memory expire --purge"
        show(BulkOut.of(expired), told if expired.matched else "Nothing has expired.", as_json=as_json)
        return
    purged = PurgedOut.of(ask(settings, partial(_purge_all, ids=expired.ids)))
    show(purged, render_purged(purged, expired.matched), as_json=as_json)


async def _purge_all(service: MemoryService, ids: Sequence[str]) -> Purged:
    parts = [await service.purge_memories(ids[start : start + MAX_BATCH]) for start in range(0, len(ids), MAX_BATCH)]
    not_found = tuple(each for part in parts for each in part.not_found)
    return Purged(not_found, erased=parts[-1].erased, memories=sum(part.memories for part in parts))


@click.command()
@click.argument("query", required=False)
@JSON
@with_settings()
def recall(query: str | None, settings: Settings, as_json: bool) -> None:
    """Show what to know before a task: the pinned memories, and what QUERY finds or the newest.

    \b
    Example:
      mcp-memory recall "rathole deployment"
    """
    out = ContextOut.of(ask(settings, lambda service: service.recall_context(query)))
    show(out, render_context(out), as_json=as_json)


@click.command()
@FILTERS
@LIFE_FILTERS
@tag_option("Add this tag", "--add", "add_tags")
@tag_option("Remove this tag", "--remove", "remove_tags")
@EXPECTED
@JSON
@with_settings()
@parsed_as(RetagIn)
def retag(asked: RetagIn, settings: Settings, as_json: bool) -> None:
    """Add tags to all memories that pass the filters, and remove others.

    \b
    Example:
      mcp-memory retag --source importer --add imported --expect 120
    """
    request, expected = asked.request(), asked.expected_count
    out = BulkOut.of(
        ask(settings, lambda service: service.retag_matching(request, asked.add_tags, asked.remove_tags, expected))
    )
    show(out, render_bulk(out, "tagged", confirmed=expected is not None), as_json=as_json)


@click.group()
def tags() -> None:
    """List, rename and merge tags."""


@tags.command("list")
@JSON
@with_settings()
def list_tags(settings: Settings, as_json: bool) -> None:
    """List every tag in use, most used first.

    \b
    Example:
      mcp-memory tags list
    """
    out = TagsOut.of(ask(settings, lambda service: service.list_tags()))
    lines = [f"{each.memories:>6}  {each.tag}" for each in out.tags] or ["No memory has a tag."]
    show(out, "\n".join(lines), as_json=as_json)


DRY_RUN = click.option("--dry-run", is_flag=True, help="Only say how many memories would change")


@tags.command()
@click.argument("old")
@click.argument("new")
@DRY_RUN
@PLAIN_JSON
@with_settings()
def rename(old: str, new: str, dry_run: bool, settings: Settings, as_json: bool) -> None:
    """Give all memories with the tag OLD the tag NEW in its place.

    \b
    Example:
      mcp-memory tags rename k8s kubernetes
    """
    _replace_tags([old], new, settings, dry_run=dry_run, as_json=as_json)


@tags.command()
@click.argument("merged", nargs=-1, required=True, metavar="TAG...")
@click.option("--into", required=True, metavar="TAG", help="The tag that stays")
@DRY_RUN
@PLAIN_JSON
@with_settings()
def merge(merged: tuple[str, ...], into: str, dry_run: bool, settings: Settings, as_json: bool) -> None:
    """Make one tag of several.

    \b
    Example:
      mcp-memory tags merge k8s kube --into kubernetes
    """
    _replace_tags(merged, into, settings, dry_run=dry_run, as_json=as_json)


def _replace_tags(old: Sequence[str], new: str, settings: Settings, *, dry_run: bool, as_json: bool) -> None:
    async def replaced(service: MemoryService) -> BulkOutcome:
        outcomes: list[BulkOutcome] = []
        for request in (ListRequest(tags=tuple(old)), ListRequest(tags=tuple(old), expired=True)):
            asked = await service.retag_matching(request, [new], old)
            outcomes.append(asked if dry_run else await service.retag_matching(request, [new], old, asked.matched))
        matched, changed = sum(each.matched for each in outcomes), sum(each.changed for each in outcomes)
        return BulkOutcome(matched, changed, tuple(each for outcome in outcomes for each in outcome.ids))

    out = BulkOut.of(ask(settings, replaced))
    text = f"{out.matched} memories would change." if dry_run else f"{out.changed} memories changed."
    show(out, text, as_json=as_json)
