"""MCP answers: a compact text and the same as structured data, each cut to a budget of characters."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from ..models import Memory, StoreOutcome
from ..schemas import ListOut, MemoryOut, PagedOut, RankedOut, RetrieveOut, SearchOut
from ..services import MemoryListing, RetrievalResult

# Every content that is shown at all is shown this far, if it is that long.
LEAST_CONTENT_CHARS = 200
# Longer metadata is left out of lists of memories; get_memory has it.
LONGEST_METADATA_CHARS = 1_000


class CutMemory(MemoryOut):
    content_cut: int = Field(default=0, description="Characters left out of content; get_memory has them")
    metadata_cut: bool = Field(default=False, description="True if long metadata was left out; get_memory has it")


class CutHit(RankedOut):
    memory: CutMemory


class FittingHits(SearchOut):
    results: list[CutHit]
    omitted: int = Field(default=0, description="Results of this page left out for length; ask for smaller pages")


class FittingList(PagedOut):
    memories: list[CutMemory]
    omitted: int = Field(default=0, description="Memories of this page left out for length; ask for smaller pages")


class MemoryPart(BaseModel):
    memory: MemoryOut
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


def stored_text(outcome: StoreOutcome) -> str:
    verb = "Stored" if outcome.created else "Already known, tags and metadata united"
    return f"{verb}: {outcome.memory.content_hash}"


def fit_hits(found: RetrievalResult, budget: int) -> tuple[str, FittingHits]:
    full = RetrieveOut.of(found)
    hits = [CutHit(**hit.model_dump(exclude={"memory"}), memory=_bounded(hit.memory)) for hit in full.results]
    shown = _fitting(hits, [hit.memory for hit in hits], budget)
    omitted = len(hits) - len(shown)
    structured = FittingHits(**full.model_dump(exclude={"results"}), results=shown, omitted=omitted)
    lines = [f"{full.total} found, page {full.page} of {full.total_pages}.{_omission(omitted)}"]
    lines += [f"Searched without: {', '.join(full.degraded)}."] if full.degraded else []
    lines += [_line(hit.memory, f"{hit.score:.3f}") for hit in shown]
    return "\n\n".join(lines), structured


def fit_listing(listing: MemoryListing, budget: int) -> tuple[str, FittingList]:
    full = ListOut.of(listing)
    memories = [_bounded(memory) for memory in full.memories]
    shown = _fitting(memories, memories, budget)
    omitted = len(memories) - len(shown)
    structured = FittingList(**full.model_dump(exclude={"memories"}), memories=shown, omitted=omitted)
    lines = [f"{full.total} memories, page {full.page} of {full.total_pages}.{_omission(omitted)}"]
    return "\n\n".join([*lines, *(_line(memory, "-") for memory in shown)]), structured


def fit_memory(memory: Memory, offset: int, budget: int) -> tuple[str, MemoryPart]:
    out = MemoryOut.of(memory)
    around = len(out.model_copy(update={"content": ""}).model_dump_json())
    room = max(LEAST_CONTENT_CHARS, budget - around)
    part = memory.content[offset : offset + room]
    end = offset + len(part)
    next_offset = end if end < len(memory.content) else None
    text = part + (f"\n[goes on at offset {next_offset}]" if next_offset else "")
    return text, MemoryPart(memory=out.model_copy(update={"content": part}), offset=offset, next_offset=next_offset)


def content_shares(lengths: Sequence[int], room: int) -> list[int]:
    """How many characters of each content fit: short ones are whole, the room they leave goes to the long ones."""
    shares = [0] * len(lengths)
    for done, position in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        fair = max(LEAST_CONTENT_CHARS, room // (len(lengths) - done))
        shares[position] = min(lengths[position], fair)
        room -= shares[position]
    return shares


class _Dumps(Protocol):
    def model_dump_json(self) -> str: ...


T = TypeVar("T", bound=_Dumps)


def _fitting(items: list[T], memories: list[CutMemory], budget: int) -> list[T]:
    """As many of the items as fit with at least the beginning of their contents, which are cut in place.

    `memories[i]` is the memory inside `items[i]`, or the item itself.
    """
    lengths = [len(memory.content) for memory in memories]
    around = [len(item.model_dump_json()) - length for item, length in zip(items, lengths, strict=True)]
    count, used = 0, 0
    for extra, length in zip(around, lengths, strict=True):
        used += extra + min(length, LEAST_CONTENT_CHARS)
        if count and used > budget:
            break
        count += 1
    shares = content_shares(lengths[:count], budget - sum(around[:count]))
    for memory, share in zip(memories, shares, strict=False):
        memory.content_cut = len(memory.content) - share
        memory.content = memory.content[:share]
    return items[:count]


def _bounded(memory: MemoryOut) -> CutMemory:
    cut = CutMemory(**memory.model_dump())
    if len(str(cut.metadata)) > LONGEST_METADATA_CHARS:
        cut.metadata, cut.metadata_cut = {}, True
    return cut


def _omission(omitted: int) -> str:
    return f" {omitted} of this page do not fit here: ask for a smaller page_size." if omitted else ""


def _line(memory: CutMemory, mark: str) -> str:
    about = " ".join([memory.created_at.date().isoformat(), memory.memory_type or ""]).strip()
    tags = f"; tags: {', '.join(memory.tags)}" if memory.tags else ""
    cut = f" [{memory.content_cut} more characters: get_memory]" if memory.content_cut else ""
    return f"[{mark}] {memory.content}{cut}\n({about}{tags}; id: {memory.content_hash})"
