"""MCP answers: a compact text and the same as structured data, each cut to a budget of characters."""

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from ..models import Memory
from ..schemas import MemoryOut, PagedOut, RankedOut, SearchOut, paging_of, ranking_of, search_of
from ..services import MemoryListing, SearchResult

T = TypeVar("T", bound=BaseModel)

# Every content that is shown at all is shown this far, if it is that long.
MIN_CONTENT_CHARS = 200
# Longer metadata and more tags are left out of lists of memories; get_memory has them.
MAX_SHOWN_METADATA_CHARS = 1_000
MAX_SHOWN_TAGS_CHARS = 500
# What an answer takes beside its memories.
FRAME_CHARS = 800


class CutMemory(MemoryOut):
    content_cut: int = Field(default=0, description="Characters left out of content; get_memory has them")
    metadata_cut: bool = Field(default=False, description="True if long metadata was left out; get_memory has it")
    tags_cut: int = Field(default=0, description="Tags left out; get_memory has them")


class CutHit(RankedOut):
    memory: CutMemory


class FittingHits(SearchOut):
    results: list[CutHit]
    omitted: int = Field(default=0, description="Results of this page left out for length; ask for smaller pages")


class FittingList(PagedOut):
    memories: list[CutMemory]
    omitted: int = Field(default=0, description="Memories of this page left out for length; ask for smaller pages")


class MemoryPart(BaseModel):
    memory: CutMemory
    offset: int
    next_offset: int | None = Field(description="Where the next part starts; null at the end")


class MemoryRef(BaseModel):
    content_hash: str
    created: bool = Field(description="True if the memory is new, false if it was there already")
    tags: list[str]
    memory_type: str | None

    @classmethod
    def of(cls, memory: Memory, *, created: bool) -> "MemoryRef":
        return cls(
            content_hash=memory.content_hash, created=created, tags=list(memory.tags), memory_type=memory.memory_type
        )


class DeletedOut(BaseModel):
    content_hash: str
    deleted: bool


def reply(text: str, structured: BaseModel) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured.model_dump(mode="json")
    )


def fit_hits(found: SearchResult, budget: int) -> tuple[str, FittingHits]:
    hits = [CutHit(memory=_bounded(hit.memory), **ranking_of(hit)) for hit in found.results]
    shown = _fitting(hits, [hit.memory for hit in hits], budget)
    omitted = len(hits) - len(shown)
    structured = FittingHits(results=shown, omitted=omitted, **search_of(found))
    paging = found.paging
    lines = [f"{paging.total} found, page {paging.page} of {paging.total_pages}.{_omission(omitted)}"]
    lines += [f"Searched without: {', '.join(found.degraded)}."] if found.degraded else []
    lines += [_line(hit.memory, f"{hit.score:.3f}") for hit in shown]
    return "\n\n".join(lines), structured


def fit_listing(listing: MemoryListing, budget: int) -> tuple[str, FittingList]:
    memories = [_bounded(memory) for memory in listing.memories]
    shown = _fitting(memories, memories, budget)
    omitted, paging = len(memories) - len(shown), listing.paging
    structured = FittingList(memories=shown, omitted=omitted, **paging_of(paging))
    lines = [f"{paging.total} memories, page {paging.page} of {paging.total_pages}.{_omission(omitted)}"]
    return "\n\n".join([*lines, *(_line(memory, "-") for memory in shown)]), structured


def fit_memory(memory: Memory, offset: int, budget: int) -> tuple[str, MemoryPart]:
    part = _bounded(memory, metadata_chars=budget // 2, tags_chars=budget // 4)
    rest = part.content[offset:]
    part.content = ""
    room = max(MIN_CONTENT_CHARS, budget - FRAME_CHARS - len(part.model_dump_json()))
    part.content = rest[: _fitting_chars(rest, room)]
    end = offset + len(part.content)
    next_offset = end if end < len(memory.content) else None
    part.content_cut = len(memory.content) - end
    text = part.content + (f"\n[goes on at offset {next_offset}]" if next_offset else "")
    return text, MemoryPart(memory=part, offset=offset, next_offset=next_offset)


def content_shares(lengths: Sequence[int], room: int) -> list[int]:
    """How many characters of each content fit: short ones are whole, the room they leave goes to the long ones."""
    shares = [0] * len(lengths)
    for done, position in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        fair = max(MIN_CONTENT_CHARS, room // (len(lengths) - done))
        shares[position] = min(lengths[position], fair)
        room -= shares[position]
    return shares


def _fitting(items: list[T], memories: list[CutMemory], budget: int) -> list[T]:
    """As many of the items as fit with at least the beginning of their contents, which are cut in place.

    `memories[i]` is the memory inside `items[i]`, or the item itself.
    """
    contents = [memory.content for memory in memories]
    for memory in memories:
        memory.content = ""
    around = [len(item.model_dump_json()) for item in items]
    room = budget - FRAME_CHARS
    lengths = [_json_chars(content) for content in contents]
    needed = accumulate(extra + min(length, MIN_CONTENT_CHARS) for extra, length in zip(around, lengths, strict=True))
    count = min(len(items), max(1, sum(used <= room for used in needed)))  # one is always shown
    shares = content_shares(lengths[:count], room - sum(around[:count]))
    for memory, content, share in zip(memories, contents, shares, strict=False):
        memory.content = content[: _fitting_chars(content, share)]
        memory.content_cut = len(content) - len(memory.content)
    return items[:count]


def _fitting_chars(content: str, room: int) -> int:
    """How much of a content takes at most `room` characters as JSON."""
    chars = min(len(content), room)
    escaped = _json_chars(content[:chars])
    return chars if escaped <= room else max(1, chars * room // escaped)


def _json_chars(content: str) -> int:
    """Quotes and line breaks take two, other control characters six."""
    return len(json.dumps(content, ensure_ascii=False)) - 2


def _bounded(
    memory: Memory, metadata_chars: int = MAX_SHOWN_METADATA_CHARS, tags_chars: int = MAX_SHOWN_TAGS_CHARS
) -> CutMemory:
    cut = CutMemory.of(memory)
    if cut.metadata and len(json.dumps(cut.metadata, ensure_ascii=False)) > metadata_chars:
        cut.metadata, cut.metadata_cut = {}, True
    while sum(map(len, cut.tags)) > tags_chars:
        cut.tags.pop()
        cut.tags_cut += 1
    return cut


def _omission(omitted: int) -> str:
    return f" {omitted} of this page do not fit here: ask for a smaller page_size." if omitted else ""


def _line(memory: CutMemory, mark: str) -> str:
    about = " ".join([memory.created_at.date().isoformat(), memory.memory_type or ""]).strip()
    tags = f"; tags: {', '.join(memory.tags)}" if memory.tags else ""
    cut = f" [{memory.content_cut} more characters: get_memory]" if memory.content_cut else ""
    return f"[{mark}] {memory.content}{cut}\n({about}{tags}; id: {memory.content_hash})"
