"""Answers as text for people."""

import json
from collections.abc import Mapping
from typing import Any

import click
from pydantic import BaseModel

from ..schemas import (
    DebugOut,
    EvidenceOut,
    ExplainOut,
    HitOut,
    ListOut,
    MemoryOut,
    PurgedOut,
    RetrieveOut,
    StatsOut,
    TimeOut,
)
from .terminal import printable_json, say

SHOWN_CHARS = 200


def show(out: BaseModel | Mapping[str, Any], text: str, *, as_json: bool) -> None:
    if not as_json:
        say(text)
    elif isinstance(out, BaseModel):
        click.echo(printable_json(out.model_dump_json(indent=2)))
    else:
        click.echo(printable_json(json.dumps(out, indent=2)))


def render_hits(found: RetrieveOut) -> str:
    lines = [
        f"{found.total} ranked, page {found.page} of {found.total_pages}"
        f" (alpha {found.alpha_used:.2g}, tags named: {', '.join(found.keywords) or 'none'}, {found.took_ms:.0f} ms)"
    ]
    lines += [*_filtered(found), *_time(found.time_understood)]
    if found.degraded:
        lines.append(f"Searched without: {', '.join(found.degraded)}")
    first = (found.page - 1) * found.page_size + 1
    for place, hit in enumerate(found.results, start=first):
        lines += ["", f"{place:>3}. {_summary(hit.memory)}", f"     {_reason(hit)}"]
        if hit.debug:
            lines.append(f"     {_arithmetic(hit.debug)}")
    return "\n".join(lines)


def render_explanation(explained: ExplainOut) -> str:
    lines = [explained.summary, ""]
    for name, vote in explained.signals.items():
        lines.append(f"  {name:<9} #{vote.rank:<5} score {vote.score:.4f}  contributes {vote.contribution:.6f}")
    lines += [f"  {name:<9} did not find it" for name in explained.signals_without_it]
    if explained.evidence:
        lines.append(f"  alpha {explained.alpha_used:.2f}: {_evidence(explained.evidence)}")
    lines += [f"  {line}" for line in _time(explained.time_understood)]
    lines.append(
        f"  recency x {explained.recency_factor:.4f}, time x {explained.time_factor:.4f},"
        f" final score {explained.final_score:.6f}"
    )
    if explained.outranked_by:
        lines += ["", "Before it:"]
    for ahead in explained.outranked_by:
        found_by = ", ".join(f"{signal} #{vote.rank}" for signal, vote in ahead.signals.items())
        lines.append(f"  {ahead.rank}. {_shortened(ahead.content, 80)} ({found_by})")
    return "\n".join(lines)


def render_memories(listing: ListOut) -> str:
    lines = [f"{listing.total} memories, page {listing.page} of {listing.total_pages}", *_filtered(listing)]
    for memory in listing.memories:
        lines += ["", f"  {_summary(memory)}", f"  {_about(memory)}"]
    return "\n".join(lines)


def render_stats(stats: StatsOut, store: str) -> str:
    types = ", ".join(f"{name or 'untyped'} {count}" for name, count in stats.memories_by_type.items())
    rows = {
        "store": store,
        "memories": f"{stats.memories}" + (f" ({types})" if types else ""),
        "tags": f"{stats.tags}",
        "vectors": f"{stats.vectors}",
        "size": f"{stats.size_bytes / 1024**2:.1f} MiB",
        "backend": f"{stats.backend}, schema version {stats.schema_version}",
        "embedding": f"{stats.embedding_model}, {stats.embedding_dimension or 'unknown'} dimensions",
        "oldest": stats.oldest.isoformat() if stats.oldest else "-",
        "newest": stats.newest.isoformat() if stats.newest else "-",
    }
    return "\n".join(f"{name:<10} {value}" for name, value in rows.items())


def render_purged(out: PurgedOut, asked: int) -> str:
    deleted = f"Deleted {asked - len(out.not_found)} of {asked}. " if asked else ""
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


def _time(time: TimeOut | None) -> list[str]:
    if time is None:
        return []
    start, end = (moment and moment.isoformat(timespec="minutes") for moment in (time.after, time.before))
    if start and end:
        meant = f"memories from {start} to {end} come first"
    else:
        meant = f"memories from before {end} come first" if end else "newer memories come first"
    return [f'Time understood: "{time.text}", {meant}']


def _evidence(evidence: EvidenceOut) -> str:
    return (
        f"the best vector hit stands out {evidence.vector_prominence:.1f} times as far as by chance; the best keyword"
        f" hit has {evidence.keyword_coverage:.0%} of the query's words, {evidence.keyword_rarity:.1f} times as rare"
    )


def _summary(memory: MemoryOut) -> str:
    return _shortened(memory.content, SHOWN_CHARS)


def _shortened(content: str, length: int) -> str:
    text = " ".join(content.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _about(memory: MemoryOut) -> str:
    parts = [memory.created_at.date().isoformat(), memory.memory_type or "", ", ".join(memory.tags)]
    return " | ".join([*filter(None, parts), memory.content_hash])


def _reason(hit: HitOut) -> str:
    found_by = ", ".join(f"{signal} #{placed.rank}" for signal, placed in hit.provenance.items())
    return f"score {hit.score:.3f} | {found_by} | {_about(hit.memory)}"


def _arithmetic(debug: DebugOut) -> str:
    return (
        f"(vector {debug.vector_rrf:.6f} + tag {debug.tag_boost:.6f} + keyword {debug.keyword_rrf:.6f}"
        f" + neighbour {debug.neighbour_boost:.6f})"
        f" x recency {debug.recency_factor:.4f} x time {debug.time_factor:.4f}"
        f" = {debug.final_score:.6f}; tags matched: {', '.join(debug.tag_matches) or 'none'}"
    )
