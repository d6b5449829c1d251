"""What goes out."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ..hybrid_search import KEYWORD, NEIGHBOUR, SIGNALS, TAG, VECTOR, Evidence, FusionMethod, TimeHint, Vote
from ..models import Memory, Purged, SearchMode, StoreOutcome, StoreStats, TagCount
from ..services.search.results import Explanation, Hit, MemoryListing, Paging, ScoreBreakdown, SearchResult
from ..timestamps import from_microseconds
from .fields import StoredMoment

AHEAD_CHARS = 200


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

    @classmethod
    def of(cls, memory: Memory) -> Self:
        return cls.model_validate(memory, from_attributes=True)


class ExportOut(MemoryOut):
    """A line of an export."""

    namespace: str


class StoredOut(BaseModel):
    content_hash: str
    created: bool = Field(description="False when the same content was there already; tags and metadata are united")
    memory: MemoryOut

    @classmethod
    def of(cls, outcome: StoreOutcome) -> "StoredOut":
        return cls(
            content_hash=outcome.memory.content_hash, created=outcome.created, memory=MemoryOut.of(outcome.memory)
        )


class BatchOut(BaseModel):
    results: list[StoredOut] = Field(description="In the order of the request")


class SignalOut(BaseModel):
    rank: int = Field(description="Place in this signal, from 1; equal matches share the middle place of their group")
    score: float = Field(
        description="Cosine similarity for vectors, BM25 for keywords, summed idf for tags, boost for neighbours"
    )

    @classmethod
    def of(cls, vote: Vote) -> Self:
        return cls.model_validate(vote, from_attributes=True)


class DebugOut(BaseModel):
    """The arithmetic of a score: final_score = (vector_rrf + tag_boost + keyword_rrf + neighbour_boost) *
    recency_factor * time_factor. The first three are weight times scaled score, or weight / (k + rank) with fusion
    `rrf`."""

    vector_score: float | None
    vector_rank: int | None
    vector_rrf: float
    tag_score: float | None
    tag_rank: int | None
    tag_boost: float
    tag_matches: list[str]
    keyword_score: float | None
    keyword_rank: int | None
    keyword_rrf: float
    neighbour_boost: float
    recency_factor: float
    time_factor: float = Field(description="By how near it is to the time that the query names; 1 if it names none")
    final_score: float
    alpha_used: float
    fusion: FusionMethod

    @classmethod
    def of(cls, breakdown: ScoreBreakdown) -> "DebugOut":
        votes = breakdown.contributions
        vector, tag, keyword, neighbour = (votes.get(name) for name in (VECTOR, TAG, KEYWORD, NEIGHBOUR))
        return cls(
            vector_score=vector.score if vector else None,
            vector_rank=vector.rank if vector else None,
            vector_rrf=vector.contribution if vector else 0.0,
            tag_score=tag.score if tag else None,
            tag_rank=tag.rank if tag else None,
            tag_boost=tag.contribution if tag else 0.0,
            tag_matches=list(breakdown.tag_matches),
            keyword_score=keyword.score if keyword else None,
            keyword_rank=keyword.rank if keyword else None,
            keyword_rrf=keyword.contribution if keyword else 0.0,
            neighbour_boost=neighbour.contribution if neighbour else 0.0,
            recency_factor=breakdown.recency_factor,
            time_factor=breakdown.time_factor,
            final_score=breakdown.final_score,
            alpha_used=breakdown.alpha_used,
            fusion=breakdown.fusion,
        )


class EvidenceOut(BaseModel):
    """What alpha was chosen by: how far each signal stands out for this query."""

    vector_prominence: float = Field(
        description="How far the best vector hit stands out; 1 = as the best of random texts would"
    )
    keyword_rarity: float = Field(
        description="How improbable the words of the best keyword hit are together; 1 = as chance would find them once"
    )
    keyword_coverage: float = Field(
        description="Share of the query's words that the best keyword hit has, rare words counting more"
    )

    @classmethod
    def of(cls, evidence: Evidence | None) -> "EvidenceOut | None":
        return cls.model_validate(evidence, from_attributes=True) if evidence else None


class TimeOut(BaseModel):
    """A time that the query names: memories created then or shortly before or after come first, others later."""

    text: str = Field(description="As the query has it")
    after: StoredMoment | None
    before: StoredMoment | None = Field(description="Without both, the newer come first, as for the latest")

    @classmethod
    def of(cls, hint: TimeHint | None) -> "TimeOut | None":
        return cls(text=hint.text, after=_moment(hint.start), before=_moment(hint.end)) if hint else None


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)


_TIME = "The time that the query names, near which memories came first; null if none, or MCP_MEMORY_QUERY_DATES is off"
_UNDERSTOOD = "As the filter of this name was understood"
_EVIDENCE = "What alpha was chosen by; null if it was given, or could not be chosen by the query"


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


class HitOut(RankedOut):
    memory: MemoryOut

    @classmethod
    def of(cls, hit: Hit) -> "HitOut":
        return cls(memory=MemoryOut.of(hit.memory), **ranking_of(hit))


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
    evidence: EvidenceOut | None = Field(default=None, description=_EVIDENCE)
    keywords: list[str] = Field(description="The tags, without case, that the tag signal looked for")
    degraded: list[str] = Field(description="What the search did without, as codes; empty when all is well")
    time_understood: TimeOut | None = Field(default=None, description=_TIME)
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
        "keywords": list(found.keywords),
        "degraded": list(found.degraded),
        "time_understood": TimeOut.of(found.time),
        "after": _moment(found.after),
        "before": _moment(found.before),
        "took_ms": found.took_ms,
    }


class RetrieveOut(SearchOut):
    results: list[HitOut]

    @classmethod
    def of(cls, found: SearchResult) -> "RetrieveOut":
        return cls(results=[HitOut.of(hit) for hit in found.results], **search_of(found))


class VoteOut(SignalOut):
    contribution: float = Field(description="To the fused score, before recency")


class AheadOut(BaseModel):
    content_hash: str
    rank: int
    content: str = Field(description="Its beginning")
    signals: dict[str, VoteOut]


class ExplainOut(BaseModel):
    """Why a memory is where it is."""

    content_hash: str
    query: str
    mode: SearchMode
    summary: str = Field(description="The whole in one sentence")
    rank: int | None = Field(description="Its place in the answer; null if it is not in it")
    page: int | None
    total: int
    filtered_by: list[str] = Field(description="The filters that leave it out")
    signals: dict[str, VoteOut] = Field(description="What each signal that found it says of it, among all memories")
    signals_without_it: list[str] = Field(description="Signals that did not find it at all")
    recency_factor: float
    time_factor: float = Field(description="By how near it is to the time that the query names; 1 if it names none")
    final_score: float
    alpha_used: float
    time_understood: TimeOut | None = Field(default=None, description=_TIME)
    evidence: EvidenceOut | None = Field(default=None, description=_EVIDENCE)
    outranked_by: list[AheadOut] = Field(description="The first of those before it")
    alpha_for_first_page: float | None = Field(
        description="The nearest alpha that would put it on the first page; null if it is there or none would"
    )
    degraded: list[str]

    @classmethod
    def of(cls, explained: Explanation) -> "ExplainOut":
        request = explained.request
        return cls(
            content_hash=explained.memory.content_hash,
            query=request.query,
            mode=request.mode,
            summary=explained.summary,
            rank=explained.rank,
            page=None if explained.rank is None else -(-explained.rank // request.page_size),
            total=explained.total,
            filtered_by=list(explained.filtered_by),
            signals=_votes(explained.signals),
            signals_without_it=[name for name in SIGNALS if name not in explained.signals],
            recency_factor=explained.recency_factor,
            time_factor=explained.time_factor,
            final_score=explained.final_score,
            alpha_used=explained.alpha_used,
            time_understood=TimeOut.of(explained.time),
            evidence=EvidenceOut.of(explained.evidence),
            outranked_by=[
                AheadOut(
                    content_hash=ahead.memory.content_hash,
                    rank=ahead.rank,
                    content=ahead.memory.content[:AHEAD_CHARS],
                    signals=_votes(ahead.contributions),
                )
                for ahead in explained.outranked_by
            ],
            alpha_for_first_page=explained.alpha_for_first_page,
            degraded=list(explained.degraded),
        )


def _votes(votes: Mapping[str, Vote]) -> dict[str, VoteOut]:
    return {name: VoteOut.of(vote) for name, vote in votes.items()}


class ListOut(PagedOut):
    memories: list[MemoryOut]
    after: StoredMoment | None = Field(default=None, description=_UNDERSTOOD)
    before: StoredMoment | None = Field(default=None, description=_UNDERSTOOD)

    @classmethod
    def of(cls, listing: MemoryListing) -> "ListOut":
        return cls(
            **paging_of(listing.paging),
            memories=[MemoryOut.of(memory) for memory in listing.memories],
            after=_moment(listing.after),
            before=_moment(listing.before),
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
    state: Literal["erased", "pending"]
    """`erased`: the bytes are gone from the store's files. `pending`: they will go, but something still holds them."""

    @classmethod
    def of(cls, purged: Purged) -> "PurgedOut":
        return cls(not_found=list(purged.not_found), state="erased" if purged.erased else "pending")


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

    @classmethod
    def of(cls, stats: StoreStats) -> "StatsOut":
        return cls.model_validate(stats, from_attributes=True)
