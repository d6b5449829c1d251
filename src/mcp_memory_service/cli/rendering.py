"""Answers as text for people."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click
from pydantic import BaseModel

from ..models import SHOWN_DIGITS, Memory
from ..schemas import (
    BulkOut,
    ContextOut,
    DebugOut,
    EvidenceOut,
    ExplainOut,
    HistoryOut,
    HitOut,
    ListOut,
    MemoryOut,
    PagedOut,
    PlaceOut,
    PurgedOut,
    RerankOut,
    RetrieveOut,
    SearchOut,
    SignalOut,
    StatsOut,
    StoredOut,
    TimeOut,
)
from ..services import Cluster, Duplicates
from ..services.search.results import HINTS
from ..timestamps import day_of
from .terminal import printable_json, say

SHOWN_CHARS = 200


def show(out: BaseModel | Mapping[str, Any], text: str, *, as_json: bool) -> None:
    if not as_json:
        say(text)
    elif isinstance(out, BaseModel):
        click.echo(printable_json(out.model_dump_json(indent=2)))
    else:
        click.echo(printable_json(json.dumps(out, indent=2)))


def render_stored(stored: StoredOut, summary: str) -> str:
    similar = [
        f"Similar: {other.id[:SHOWN_DIGITS]} ({other.similarity:.2f}) {_shortened(other.text, SHOWN_CHARS)}"
        for other in stored.similar
    ]
    hint = ["If it corrects one of these: store it with --supersedes ID, or edit that one."] if similar else []
    return "\n".join([summary, *similar, *hint])


def render_clusters(found: Duplicates, listed: Sequence[Cluster], threshold: float) -> str:
    lines = [
        f"{len(found.clusters):,} clusters among {found.compared:,} memories, of a cosine similarity from"
        f" {threshold:g}; {len(listed):,} listed"
    ]
    for number, cluster in enumerate(listed, start=1):
        lines += ["", f"{number:>3}. keep      {_row(cluster.kept)}"]
        lines += [f"     {each.similarity:.3f}     {_row(each.memory)}" for each in cluster.others]
    return "\n".join(lines)


def _row(memory: Memory) -> str:
    return f"{memory.short_id} {day_of(memory.created_at)} {_shortened(memory.content, 100)}"


def render_hits(found: RetrieveOut, stored: int, *, full: bool = False) -> str:
    """`stored` is how many memories there are at all."""
    if found.results:
        tags = ", ".join(found.keywords) or "none"
        lines = [
            f"{found.total} ranked, page {found.page} of {found.total_pages}"
            f" (alpha {found.alpha_used:.2g}, tags named: {tags}, {found.took_ms:.0f} ms)",
            " ".join(filter(None, [f"Confidence: {found.confidence}.", found.confidence_note])),
        ]
    else:
        lines = [found.confidence_note or "" if found.cut else _why_empty(found, stored)]
    lines += [*_filtered(found), *_time(found.time_understood), *_expanded(found)]
    if found.degraded:
        lines.append(f"Searched without: {', '.join(found.degraded)}")
    lines += [f"About {context.folder}: {_shortened(context.text, SHOWN_CHARS)}" for context in found.contexts]
    # Who asks for a further page wants to see it all the same.
    shown = found.results[:HINTS] if found.confidence == "none" and found.page == 1 else found.results
    first = (found.page - 1) * found.page_size + 1
    for place, hit in enumerate(shown, start=first):
        lines += ["", f"{place:>3}. {_whole(hit.memory) if full else _best_of(hit)}", f"     {_reason(hit)}"]
        if hit.debug:
            lines.append(f"     {_arithmetic(hit.debug)}")
    return "\n".join(lines)


def render_explanation(explained: ExplainOut) -> str:
    lines = [explained.summary, ""]
    for name, vote in explained.signals.items():
        lines.append(
            f"  {name:<9} #{vote.rank:<5} score {vote.score:.4f}  contributes {vote.contribution:.6f}{vote.way}"
        )
    lines += [f"  {name:<9} did not find it" for name in explained.signals_without_it]
    if explained.evidence:
        lines.append(f"  alpha {explained.alpha_used:.2f}: {_evidence(explained.evidence)}")
    lines += [f"  {line}" for line in (*_time(explained.time_understood), *_expanded(explained))]
    lines.append(
        f"  recency x {explained.recency_factor:.4f}, time x {explained.time_factor:.4f},"
        f"{_reranked(explained.rerank)} update x {explained.update_factor:.4f},"
        f" final score {explained.final_score:.6f}"
    )
    if explained.outranked_by:
        lines += ["", "Before it:"]
    for ahead in explained.outranked_by:
        found_by = _found_by(ahead.signals)
        lines.append(f"  {ahead.rank}. {_shortened(ahead.content, 80)} ({found_by})")
    return "\n".join(lines)


def render_memories(listing: ListOut, stored: int, *, full: bool = False) -> str:
    if not listing.memories:
        return _why_empty(listing, stored)
    lines = [f"{listing.total} memories, page {listing.page} of {listing.total_pages}", *_filtered(listing)]
    for memory in listing.memories:
        lines += ["", f"  {_whole(memory) if full else _summary(memory)}", f"  {_about(memory)}"]
    return "\n".join(lines)


def _why_empty(paged: PagedOut, stored: int) -> str:
    if paged.total:
        pages = "is 1 page" if paged.total_pages == 1 else f"are {paged.total_pages} pages"
        return f"Nothing on page {paged.page}: there {pages}, with {paged.total} in all."
    if stored:
        return f"None of the {stored} memories matches."
    return 'Nothing is stored yet. To store something: mcp-memory store "..." --tag ...'


def render_stats(stats: StatsOut, store: str) -> str:
    types = ", ".join(f"{name or 'untyped'} {count}" for name, count in stats.memories_by_type.items())
    rows = {
        "store": store,
        "memories": f"{stats.memories}" + (f" ({types})" if types else ""),
        "tags": f"{stats.tags}",
        "vectors": f"{stats.vectors}"
        + (f" (embedding coverage {stats.embedding_coverage:.1%})" if stats.awaiting_vectors else ""),
        "size": f"{stats.size_bytes / 1024**2:.1f} MiB",
        "backend": f"{stats.backend}, schema version {stats.schema_version}",
        "embedding": f"{stats.embedding_model}, {stats.embedding_dimension or 'unknown'} dimensions",
        "oldest": stats.oldest.isoformat() if stats.oldest else "-",
        "newest": stats.newest.isoformat() if stats.newest else "-",
    }
    return "\n".join(f"{name:<10} {value}" for name, value in rows.items())


def render_memory(memory: MemoryOut) -> str:
    """Whole, with all that belongs to it."""
    rows = {
        "id": memory.content_hash,
        "created": memory.created_at.isoformat(),
        "edited": memory.edited_at and memory.edited_at.isoformat(),
        "ended": memory.ended_at and memory.ended_at.isoformat(),
        "expires": memory.expires_at and memory.expires_at.isoformat(),
        "pinned": "yes" if memory.pinned else None,
        "type": memory.memory_type,
        "tags": ", ".join(memory.tags),
        "source": memory.source,
        "place": memory.place and _place(memory.place),
        "link": memory.place and memory.place.link,
        "session": memory.session and f"{memory.session} {memory.sequence if memory.sequence is not None else ''}",
        "metadata": json.dumps(memory.metadata, ensure_ascii=False) if memory.metadata else None,
    }
    return "\n".join([*(f"{name:<9} {value}" for name, value in rows.items() if value), "", memory.content])


def render_history(history: HistoryOut) -> str:
    lines = [f"{len(history.versions)} versions, the one that holds now first"]
    for memory in history.versions:
        until = f"until {memory.ended_at:%Y-%m-%d %H:%M}" if memory.ended_at else "holds now"
        lines += ["", f"  {_summary(memory)}", f"  {until} | {_about(memory)}"]
    return "\n".join(lines)


def render_trash(trash: ListOut, days: int) -> str:
    if not trash.total:
        return "The trash is empty."
    lines = [f"{trash.total} in the trash, each for {days} days; to bring one back: mcp-memory trash --restore ID"]
    for memory in trash.memories:
        lines += ["", f"  {_summary(memory)}", f"  deleted {memory.ended_at:%Y-%m-%d %H:%M} | {_about(memory)}"]
    return "\n".join(lines)


def render_context(context: ContextOut) -> str:
    sections = {"Pinned": context.pinned, "Newest": context.recent}
    if context.found:
        sections["Found"] = [hit.memory for hit in context.found.results]
    lines: list[str] = []
    for title, memories in sections.items():
        if memories:
            lines += [
                f"{title}:",
                *(line for each in memories for line in (f"  {_summary(each)}", f"  {_about(each)}")),
            ]
    return "\n".join(lines) or "Nothing is pinned, and nothing else was found."


def render_bulk(out: BulkOut, done: str, *, confirmed: bool) -> str:
    if confirmed:
        return f"{out.changed} of {out.matched} memories {done}."
    return f"{out.matched} memories match; nothing was {done}. To do it: the same with --expect {out.matched}"


def render_purged(out: PurgedOut, asked: int) -> str:
    further = out.memories - (asked - len(out.not_found))
    beside = f", and {further} that they took the place of" if further > 0 else ""
    deleted = f"Deleted {asked - len(out.not_found)} of {asked}{beside}. " if asked else ""
    deleted += "".join(f"Not there: {content_hash}. " for content_hash in out.not_found)
    if out.state == "erased":
        return f"{deleted}Erased: no byte of what was deleted is left in the files of the store."
    return (
        f"{deleted}Pending: a reader or Qdrant still holds the bytes, or there is no room to rewrite the file."
        " mcp-memory purge without arguments tries again."
    )


def _filtered(found: RetrieveOut | ListOut) -> list[str]:
    """How the filters of time were understood, if there are any."""
    bounds = [("from", found.after), ("before", found.before)]
    said = [f"{word} {moment.isoformat(timespec='minutes')}" for word, moment in bounds if moment]
    return [f"Created {' and '.join(said)}"] if said else []


def _expanded(found: SearchOut | ExplainOut) -> list[str]:
    return [f"Expanded with: {', '.join(found.expanded_with)}"] if found.expanded_with else []


def _time(time: TimeOut | None) -> list[str]:
    if time is None:
        return []
    start, end = (moment and moment.isoformat(timespec="minutes") for moment in (time.after, time.before))
    if start and end:
        meant = f"memories from {start} to {end} come first"
    else:
        meant = f"memories from before {end} come first" if end else f"the {time.wanted} memories come first"
    return [f'Time understood: "{time.text}", {meant}']


def _evidence(evidence: EvidenceOut) -> str:
    return (
        f"the best vector hit stands out {evidence.vector_prominence:.1f} times as far as by chance; the best keyword"
        f" hit has {evidence.keyword_coverage:.0%} of the query's words, {evidence.keyword_rarity:.1f} times as rare,"
        f" and is {evidence.keyword_lead:.0%} above the tenth"
    )


def _best_of(hit: HitOut) -> str:
    """The passages of a long content, the beginning of any other."""
    if not hit.passages:
        return _summary(hit.memory)
    shown = " … ".join([" ".join(passage.text.split()) for passage in hit.passages])
    return f"… {shown}" if hit.passages[0].start else shown


def _whole(memory: MemoryOut) -> str:
    return memory.content.strip().replace("\n", "\n     ")


def _summary(memory: MemoryOut) -> str:
    return _shortened(memory.content, SHOWN_CHARS)


def _shortened(content: str, length: int) -> str:
    text = " ".join(content.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _about(memory: MemoryOut) -> str:
    ended = f"until {memory.ended_at:%Y-%m-%d}" if memory.ended_at else ""
    parts = [memory.created_at.date().isoformat(), ended, memory.memory_type or "", ", ".join(memory.tags)]
    parts += [_place(memory.place)] if memory.place else []
    return " | ".join([*filter(None, parts), memory.content_hash[:SHOWN_DIGITS]])


def _place(place: PlaceOut) -> str:
    changed = f" ({place.freshness})" if place.freshness not in {None, "fresh"} else ""
    headings = " > ".join(place.heading_path)
    return f"{place.path}:{place.first_line}-{place.last_line}{changed} {headings}"


def _reason(hit: HitOut) -> str:
    return f"score {hit.score:.3f} | {_found_by(hit.provenance)} | {_about(hit.memory)}"


def _found_by(signals: Mapping[str, SignalOut]) -> str:
    return ", ".join([f"{signal} #{placed.rank}{placed.way}" for signal, placed in signals.items()])


def _arithmetic(debug: DebugOut) -> str:
    total = (
        f"(vector {debug.vector_rrf:.6f} + tag {debug.tag_boost:.6f} + keyword {debug.keyword_rrf:.6f}"
        f" + neighbour {debug.neighbour_boost:.6f} + graph {debug.graph_boost:.6f})"
        f" x recency {debug.recency_factor:.4f} x time {debug.time_factor:.4f}"
    )
    if debug.rerank:
        total = f"({total} x {1 - debug.rerank.weight:.4g} + rerank {debug.rerank.contribution:.6f})"
    return (
        f"{total} x update {debug.update_factor:.4f}"
        f" = {debug.final_score:.6f}; tags matched: {', '.join(debug.tag_matches) or 'none'}"
    )


def _reranked(rerank: RerankOut | None) -> str:
    return f" x {1 - rerank.weight:.4g} + rerank {rerank.contribution:.6f}," if rerank else ""
