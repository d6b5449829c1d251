"""What goes out."""

from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ..hybrid_search import MAX_PASSAGE_CHARS
from ..models import (
    Confidence,
    Freshness,
    Memory,
    MemoryKind,
    Purged,
    SearchMode,
    SimilarMemory,
    StoreOutcome,
    StoreStats,
    TagCount,
)
from ..services.search.results import Hit, MemoryListing, Paging, Passage, SearchResult
from .breakdown import EVIDENCE, EXPANSION, TIME, DebugOut, EvidenceOut, SignalOut, TimeOut, moment_of
from .fields import StoredMoment
from .indexing import PlaceOut

SIMILAR_CHARS = 200
MAX_WHOLE_CHARS = 4_000
"""Longer contents come in part in searches and listings, unless they are asked for in full: in an answer of 100
memories of the greatest length these would be 10 million characters."""


class MemoryOut(BaseModel):
    content: str
    content_hash: str
    tags: list[str]
    memory_type: str | None
    metadata: dict[str, Any]
    created_at: StoredMoment
    updated_at: StoredMoment
    source: str | None
    session: str | None
    sequence: int | None
    pinned: bool = Field(description="Whether it is given with every recall of context")
    expires_at: StoredMoment | None = Field(description="From then on no search and no list has it")
    edited_at: StoredMoment | None = Field(description="When its text came in the place of an earlier one")
    ended_at: StoredMoment | None = Field(description="When it was superseded or deleted; null as long as it holds")
    kind: MemoryKind = Field(
        default="memory",
        exclude_if=lambda kind: kind == "memory",
        description="Only if it is no plain memory: what it is, such as note for a chunk of a document",
    )
    place: PlaceOut | None = Field(
        default=None, exclude_if=lambda place: place is None, description="Only of a note: where it stands"
    )

    @classmethod
    def of(cls, memory: Memory, freshness: Freshness | None = None) -> Self:
        shown = cls.model_validate(memory, from_attributes=True)
        return shown if memory.kind == "memory" else shown.model_copy(update={"place": PlaceOut.of(memory, freshness)})


class ListedOut(MemoryOut):
    """A memory among others: of a long content only a part."""

    content_length: int | None = Field(
        default=None,
        exclude_if=lambda length: length is None,
        description="Only if content is cut: how many characters the whole has",
    )
    content_cut: bool = Field(
        default=False,
        exclude_if=lambda cut: not cut,
        description="Only if it is true: content is a part of the whole, which comes with `full`, or if the memory is"
        " asked for by itself",
    )

    @classmethod
    def begun(cls, memory: Memory) -> Self:
        """Of a long content the beginning."""
        is_long = len(memory.content) > MAX_WHOLE_CHARS
        return cls.in_part(memory, memory.content[:MAX_PASSAGE_CHARS]) if is_long else cls.of(memory)

    @classmethod
    def in_part(cls, memory: Memory, part: str, freshness: Freshness | None = None) -> Self:
        whole = cls.of(memory, freshness)
        return whole.model_copy(update={"content": part, "content_length": len(whole.content), "content_cut": True})


class ExportOut(MemoryOut):
    """A line of an export: a memory that holds now."""

    namespace: str
    ended_at: StoredMoment | None = Field(default=None, exclude=True)


class SimilarOut(BaseModel):
    id: str = Field(description="The content_hash of the other memory")
    text: str = Field(description=f"Its first {SIMILAR_CHARS} characters")
    similarity: float = Field(description="Cosine similarity")

    @classmethod
    def of(cls, similar: SimilarMemory) -> "SimilarOut":
        memory = similar.memory
        text = memory.content[:SIMILAR_CHARS]
        return cls(id=memory.content_hash, text=text, similarity=round(similar.similarity, 3))


class StoredOut(BaseModel):
    content_hash: str
    created: bool = Field(description="False when the same content was there already; tags and metadata are united")
    memory: MemoryOut
    similar: list[SimilarOut] = Field(
        description="Other memories that this one may repeat, correct or contradict, most similar first"
    )

    @classmethod
    def of(cls, outcome: StoreOutcome) -> "StoredOut":
        return cls(
            content_hash=outcome.memory.content_hash,
            created=outcome.created,
            memory=MemoryOut.of(outcome.memory),
            similar=[SimilarOut.of(similar) for similar in outcome.similar],
        )


class BatchOut(BaseModel):
    results: list[StoredOut] = Field(
        description="In the order of the request; `similar` is empty in batches of more than 10"
    )


_UNDERSTOOD = "As the filter of this name was understood"


class RankedOut(BaseModel):
    """Why a memory is where it is."""

    score: float = Field(description="0 to 1, the best of the whole search is 1; for ordering, not for thresholds")
    similarity: float | None = Field(description="Cosine similarity; null if the vector signal did not find it")
    provenance: dict[str, SignalOut] = Field(description="Which signals found it, and where they placed it")
    snippet: str | None = Field(description="Where words of the query stand in the content, marked with **")
    debug: DebugOut | None = Field(default=None, description="Only when asked for")


def ranking_of(hit: Hit) -> dict[str, Any]:
    """The fields of `RankedOut`."""
    return {
        "score": hit.score,
        "similarity": hit.similarity,
        "provenance": {signal: SignalOut.of(placed) for signal, placed in hit.provenance.items()},
        "snippet": hit.snippet,
        "debug": DebugOut.of(hit.debug) if hit.debug else None,
    }


class PassageOut(BaseModel):
    start: int = Field(description="Which character of the whole content is its first, from 0")
    text: str

    @classmethod
    def of(cls, passage: Passage) -> Self:
        return cls.model_validate(passage, from_attributes=True)


class HitOut(RankedOut):
    memory: ListedOut
    passages: list[PassageOut] = Field(
        default_factory=list[PassageOut],
        exclude_if=lambda passages: not passages,
        description=f"Only of a content over {MAX_PASSAGE_CHARS:,} characters, and not with `full`: what matches best,"
        f" in order. Of one over {MAX_WHOLE_CHARS:,} characters, content is these, with … between them",
    )

    @classmethod
    def of(cls, hit: Hit) -> "HitOut":
        passages = [PassageOut.of(passage) for passage in hit.passages]
        if passages and len(hit.memory.content) > MAX_WHOLE_CHARS:
            memory = ListedOut.in_part(hit.memory, " … ".join([passage.text for passage in passages]), hit.freshness)
        else:
            memory = ListedOut.of(hit.memory, hit.freshness)
        return cls(memory=memory, passages=passages, **ranking_of(hit))


class PagedOut(BaseModel):
    page: int
    page_size: int
    total: int = Field(description="How many there are on all pages")
    total_pages: int
    has_more: bool


class SearchOut(PagedOut):
    """A search, apart from its results."""

    query: str
    mode: SearchMode
    alpha_used: float
    evidence: EvidenceOut | None = Field(default=None, description=EVIDENCE)
    confidence: Confidence = Field(
        description="How sure the search is that an answer is among what it found; none = nothing seems to be one"
    )
    confidence_note: str | None = Field(description="The same in a sentence; null when it is high")
    cut: bool = Field(description="Whether results were left out because they are less sure than min_confidence")
    keywords: list[str] = Field(description="The tags, without case, that the tag signal looked for")
    expanded_with: list[str] = Field(
        default_factory=list[str], exclude_if=lambda terms: not terms, description=EXPANSION
    )
    degraded: list[str] = Field(description="What the search did without, as codes; empty when all is well")
    time_understood: TimeOut | None = Field(default=None, description=TIME)
    after: StoredMoment | None = Field(default=None, description=_UNDERSTOOD)
    before: StoredMoment | None = Field(default=None, description=_UNDERSTOOD)
    took_ms: float


def search_of(found: SearchResult) -> dict[str, Any]:
    """The fields of `SearchOut`."""
    return {
        **paging_of(found.paging),
        "query": found.query,
        "mode": found.mode,
        "alpha_used": found.alpha_used,
        "evidence": EvidenceOut.of(found.evidence),
        "confidence": found.confidence,
        "confidence_note": found.confidence_note,
        "cut": found.cut,
        "keywords": list(found.keywords),
        "expanded_with": list(found.expanded_with),
        "degraded": list(found.degraded),
        "time_understood": TimeOut.of(found.time),
        "after": moment_of(found.after),
        "before": moment_of(found.before),
        "took_ms": found.took_ms,
    }


class FolderContextOut(BaseModel):
    folder: str = Field(description="Relative to the folder that was indexed; . is that folder itself")
    source: str
    text: str


class RetrieveOut(SearchOut):
    results: list[HitOut]
    contexts: list[FolderContextOut] = Field(
        default_factory=list[FolderContextOut],
        exclude_if=lambda contexts: not contexts,
        description="Only with MCP_MEMORY_FOLDER_CONTEXT: what the folders say of themselves that hits come from",
    )

    @classmethod
    def of(cls, found: SearchResult) -> "RetrieveOut":
        contexts = [FolderContextOut.model_validate(each, from_attributes=True) for each in found.contexts]
        return cls(results=[HitOut.of(hit) for hit in found.results], contexts=contexts, **search_of(found))


class ListOut(PagedOut):
    memories: list[ListedOut]
    after: StoredMoment | None = Field(default=None, description=_UNDERSTOOD)
    before: StoredMoment | None = Field(default=None, description=_UNDERSTOOD)

    @classmethod
    def of(cls, listing: MemoryListing, *, full: bool = False) -> "ListOut":
        """Unless in full, of long contents the beginning."""
        return cls(
            **paging_of(listing.paging),
            memories=[ListedOut.of(memory) if full else ListedOut.begun(memory) for memory in listing.memories],
            after=moment_of(listing.after),
            before=moment_of(listing.before),
        )


def paging_of(paging: Paging) -> dict[str, Any]:
    """The fields of `PagedOut`."""
    return {
        "page": paging.page,
        "page_size": paging.page_size,
        "total": paging.total,
        "total_pages": paging.total_pages,
        "has_more": paging.has_more,
    }


class TagOut(BaseModel):
    tag: str
    memories: int


class TagsOut(BaseModel):
    tags: list[TagOut]

    @classmethod
    def of(cls, tags: list[TagCount]) -> "TagsOut":
        return cls(tags=[TagOut(tag=tag.tag, memories=tag.memories) for tag in tags])


class PurgedOut(BaseModel):
    """What came of a purge."""

    not_found: list[str]
    """Those of the memories that were not there, or not any more."""
    memories: int = Field(description="How many there were, with all that they took the place of")
    state: Literal["erased", "pending"]
    """`erased`: the bytes are gone from the store's files. `pending`: they will go, but something still holds them."""

    @classmethod
    def of(cls, purged: Purged) -> "PurgedOut":
        state = "erased" if purged.erased else "pending"
        return cls(not_found=list(purged.not_found), memories=purged.memories, state=state)


class StatsOut(BaseModel):
    backend: str
    memories: int
    tags: int
    vectors: int
    size_bytes: int = Field(description="Of the texts and vectors of the namespace; on Qdrant, of its vectors")
    schema_version: int
    embedding_model: str
    embedding_dimension: int | None
    memories_by_type: dict[str, int] = Field(description="The empty name counts memories without a type")
    oldest: StoredMoment | None
    newest: StoredMoment | None
    awaiting_vectors: int = Field(description="Those that are found by their words, and not by their meaning yet")
    embedding_coverage: float = Field(description="Which part of the memories is found by meaning as well, 0 to 1")

    @classmethod
    def of(cls, stats: StoreStats) -> "StatsOut":
        return cls.model_validate(stats, from_attributes=True)
