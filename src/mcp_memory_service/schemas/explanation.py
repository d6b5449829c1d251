"""The answer to why a memory is where it is."""

from collections.abc import Mapping

from pydantic import BaseModel, Field

from ..hybrid_search import RERANK, SIGNALS, Vote
from ..models import SearchMode
from ..services.search.results import Explanation
from .breakdown import EVIDENCE, EXPANSION, RERANKED, TIME, UPDATE, EvidenceOut, RerankOut, SignalOut, TimeOut

AHEAD_CHARS = 200


class VoteOut(SignalOut):
    contribution: float = Field(description="To the fused score, before recency; that of rerank, to the final score")


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
    rank_before_rerank: int | None = Field(
        default=None,
        exclude_if=lambda rank: rank is None,
        description="Only if the first results were re-ranked: its place before that",
    )
    page: int | None
    total: int
    filtered_by: list[str] = Field(description="The filters that leave it out")
    signals: dict[str, VoteOut] = Field(description="What each signal that found it says of it, among all memories")
    signals_without_it: list[str] = Field(description="Signals that did not find it at all")
    recency_factor: float
    time_factor: float = Field(description="By how near it is to the time that the query names; 1 if it names none")
    update_factor: float = Field(description=UPDATE)
    rerank: RerankOut | None = Field(default=None, exclude_if=lambda rerank: rerank is None, description=RERANKED)
    final_score: float
    alpha_used: float
    time_understood: TimeOut | None = Field(default=None, description=TIME)
    expanded_with: list[str] = Field(
        default_factory=list[str], exclude_if=lambda terms: not terms, description=EXPANSION
    )
    evidence: EvidenceOut | None = Field(default=None, description=EVIDENCE)
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
            rank_before_rerank=explained.rank_before,
            page=None if explained.rank is None else -(-explained.rank // request.page_size),
            total=explained.total,
            filtered_by=list(explained.filtered_by),
            signals=_votes(explained.signals),
            signals_without_it=[name for name in SIGNALS if name not in explained.signals],
            recency_factor=explained.recency_factor,
            time_factor=explained.time_factor,
            update_factor=explained.update_factor,
            rerank=RerankOut.of(explained.rerank_weight, explained.signals.get(RERANK)),
            time_understood=TimeOut.of(explained.time),
            expanded_with=list(explained.expanded_with),
            final_score=explained.final_score,
            alpha_used=explained.alpha_used,
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
