"""How a ranking came about, on the wire: votes of the signals, the arithmetic of a score, and what was understood."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from ..hybrid_search import (
    GRAPH,
    KEYWORD,
    NEIGHBOUR,
    RERANK,
    TAG,
    VECTOR,
    Direction,
    Evidence,
    FusionMethod,
    RankingName,
    Route,
    TimeHint,
    Vote,
    Wanted,
)
from ..models import EdgeKind
from ..services.search.results import ScoreBreakdown
from ..timestamps import from_microseconds
from .fields import StoredMoment

TIME = "The time that the query names, near which memories came first; null if none, or MCP_MEMORY_QUERY_DATES is off"
EVIDENCE = "What alpha was chosen by; null if it was given, or could not be chosen by the query"
EXPANSION = (
    "Only if the query was expanded (MCP_MEMORY_QUERY_EXPANSION): the terms of stored texts that were added to it for"
    " the vector signal; similarity is that to the expanded query"
)
UPDATE = "Above 1 if it seems to update an older memory, whose score it got so as to come before it"

RERANKED = "Only if the first results of the search were re-ranked by a cross-encoder"


DISTANCE = "Only of what was reached by links: how many there are between it and what a signal found"
THROUGH = "Only of what was reached by links: the last of them"


class LinkOut(BaseModel):
    content_hash: str = Field(description="The memory that it was reached from")
    kind: EdgeKind
    direction: Direction = Field(description="out = that memory points at it, back = it points at that memory")

    @classmethod
    def of(cls, route: Route) -> "LinkOut":
        return cls(content_hash=route.memory, kind=route.kind, direction=route.direction)


class SignalOut(BaseModel):
    rank: int = Field(description="Place in this signal, from 1; equal matches share the middle place of their group")
    score: float = Field(
        description="Cosine similarity for vectors, BM25 for keywords, summed idf for tags, boost for neighbours and"
        " the graph, the model's own score for rerank"
    )
    distance_in_graph: int | None = Field(default=None, exclude_if=lambda distance: not distance, description=DISTANCE)
    through: LinkOut | None = Field(default=None, exclude_if=lambda through: through is None, description=THROUGH)

    @classmethod
    def of(cls, vote: Vote) -> Self:
        return cls.model_validate(vote._asdict() | _route_of(vote))

    @property
    def way(self) -> str:
        """How links led to it, in brackets; empty if none did."""
        if self.through is None or self.distance_in_graph is None:
            return ""
        link = self.through
        return f" ({Route(link.content_hash, link.kind, link.direction, self.distance_in_graph).words})"


def _route_of(vote: Vote | None) -> dict[str, Any]:
    if vote is None or vote.route is None:
        return {}
    return {"distance_in_graph": vote.route.distance, "through": LinkOut.of(vote.route)}


class RerankOut(BaseModel):
    """What re-ranking did to a score: it kept 1 - weight of it, and added the contribution."""

    weight: float
    rank: int | None = Field(description="By the cross-encoder alone, from 1; null if it was not among the first")
    score: float | None = Field(description="Of the cross-encoder, on a scale of its own")
    contribution: float

    @classmethod
    def of(cls, weight: float, vote: Vote | None) -> "RerankOut | None":
        if not weight:
            return None
        if vote is None:
            return cls(weight=weight, rank=None, score=None, contribution=0.0)
        return cls(weight=weight, rank=vote.rank, score=vote.score, contribution=vote.contribution)


class DebugOut(BaseModel):
    """The arithmetic of a score: final_score = (vector_rrf + tag_boost + keyword_rrf + neighbour_boost + graph_boost)
    * recency_factor * time_factor * update_factor. The first three are weight times scaled score, or weight /
    (k + rank) with fusion `rrf`. If it was re-ranked, final_score = ((the same sum) * recency_factor * time_factor *
    (1 - rerank.weight) + rerank.contribution) * update_factor."""

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
    graph_boost: float
    distance_in_graph: int | None = Field(default=None, exclude_if=lambda distance: not distance, description=DISTANCE)
    through: LinkOut | None = Field(default=None, exclude_if=lambda through: through is None, description=THROUGH)
    recency_factor: float
    time_factor: float = Field(description="By how near it is to the time that the query names; 1 if it names none")
    update_factor: float = Field(description=UPDATE)
    rerank: RerankOut | None = Field(default=None, exclude_if=lambda rerank: rerank is None, description=RERANKED)
    final_score: float
    alpha_prior: float | None = Field(
        description="By the size of the corpus, before the query; null if alpha was given"
    )
    alpha_used: float
    ranking: RankingName
    fusion: FusionMethod
    expanded_with: list[str] = Field(
        default_factory=list[str], exclude_if=lambda terms: not terms, description=EXPANSION
    )

    @classmethod
    def of(cls, breakdown: ScoreBreakdown) -> "DebugOut":
        votes = breakdown.contributions
        vector, tag, keyword = (votes.get(name) for name in (VECTOR, TAG, KEYWORD))
        neighbour, graph = votes.get(NEIGHBOUR), votes.get(GRAPH)
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
            graph_boost=graph.contribution if graph else 0.0,
            **_route_of(graph),
            recency_factor=breakdown.recency_factor,
            time_factor=breakdown.time_factor,
            update_factor=breakdown.update_factor,
            rerank=RerankOut.of(breakdown.rerank_weight, votes.get(RERANK)),
            final_score=breakdown.final_score,
            alpha_prior=breakdown.alpha_prior,
            alpha_used=breakdown.alpha_used,
            ranking=breakdown.ranking,
            fusion=breakdown.fusion,
            expanded_with=list(breakdown.expanded_with),
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
    keyword_known: float = Field(description="Share of the query's words that any memory has, likewise")
    keyword_lead: float = Field(
        description="How far the best keyword hit is above the tenth, as a share of its score; its equals count as one"
    )

    @classmethod
    def of(cls, evidence: Evidence | None) -> "EvidenceOut | None":
        return cls.model_validate(evidence, from_attributes=True) if evidence else None


class TimeOut(BaseModel):
    """A time that the query names: memories created then or shortly before or after come first, others later."""

    text: str = Field(description="As the query has it")
    wanted: Wanted = Field(description="What comes first: what is of the period, the newest or the oldest")
    after: StoredMoment | None
    before: StoredMoment | None

    @classmethod
    def of(cls, hint: TimeHint | None) -> "TimeOut | None":
        if hint is None:
            return None
        return cls(text=hint.text, wanted=hint.wanted, after=moment_of(hint.start), before=moment_of(hint.end))


def moment_of(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)
