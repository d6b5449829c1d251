"""Reciprocal Rank Fusion of the vector and the tag signal, with its arithmetic left open to inspection."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ..models import Candidate
from .tag_rank import shared_ranks

RRF_K = 60


@dataclass(frozen=True, slots=True)
class HybridScoreDebug:
    """How one score came about: `final_score = (vector_rrf + tag_boost) · recency_factor`."""

    vector_score: float | None
    """Cosine similarity; None when the vector signal did not find the memory."""
    vector_rank: int | None
    vector_rrf: float
    """`alpha / (k + vector_rank)`, 0 without a vector rank."""
    tag_score: float | None
    tag_rank: int | None
    tag_boost: float
    """`(1 - alpha) / (k + tag_rank)`, 0 without a tag rank."""
    tag_matches: tuple[str, ...]
    recency_factor: float
    final_score: float
    alpha_used: float


class FusedCandidate(NamedTuple):
    """A memory that at least one signal found, with its fused score and what that was made of.

    A named tuple and not a dataclass: two thousand are made for a query, and tuples are made three times as fast.
    """

    content_hash: str
    created_at: int
    score: float
    vector_rank: int | None
    vector_score: float | None
    vector_rrf: float
    tag_rank: int | None
    tag_score: float | None
    tag_boost: float
    alpha: float
    recency_factor: float = 1.0

    def debug(self, tag_matches: Sequence[str]) -> HybridScoreDebug:
        """The breakdown; `tag_matches` are the memory's tags that were looked for."""
        return HybridScoreDebug(
            vector_score=self.vector_score,
            vector_rank=self.vector_rank,
            vector_rrf=self.vector_rrf,
            tag_score=self.tag_score,
            tag_rank=self.tag_rank,
            tag_boost=self.tag_boost,
            tag_matches=tuple(tag_matches),
            recency_factor=self.recency_factor,
            final_score=self.score,
            alpha_used=self.alpha,
        )


def best_first(candidate: FusedCandidate) -> tuple[float, int, str]:
    """The one sort key: of equals the newer, then the smaller id."""
    return (-candidate.score, -candidate.created_at, candidate.content_hash)


def rrf_score(rank: int, k: int = RRF_K) -> float:
    """`1 / (k + rank)`; ranks are 1-based."""
    if rank < 1:
        raise ValueError(f"A rank starts at 1, not {rank}.")
    return 1.0 / (k + rank)


def combine_results_rrf(
    vector_results: Sequence[Candidate], tag_matches: Sequence[Candidate], alpha: float, k: int = RRF_K
) -> list[FusedCandidate]:
    """Fuse two ranked lists, best first; a memory appears once however many signals found it.

    A signal whose weight is 0 has no vote: with alpha 1 the result is the vector list, with alpha 0 the tag list.
    Both lists must be in the signal's own order; equal tag scores share a rank.
    """
    vector_votes = vector_results if alpha > 0 else ()
    tag_votes = tag_matches if alpha < 1 else ()
    vector_rank = {c.content_hash: (rank, c) for rank, c in enumerate(vector_votes, start=1)}
    tag_rank = {
        c.content_hash: (rank, c)
        for rank, c in zip(shared_ranks([c.raw_score for c in tag_votes]), tag_votes, strict=True)
    }
    found = {c.content_hash: c for c in (*vector_votes, *tag_votes)}
    fused = [_fuse(c, vector_rank.get(key), tag_rank.get(key), alpha, k) for key, c in found.items()]
    return sorted(fused, key=best_first)


_Vote: TypeAlias = "tuple[int, Candidate] | None"


def _fuse(found: Candidate, vector: _Vote, tag: _Vote, alpha: float, k: int) -> FusedCandidate:
    vector_rrf = alpha * rrf_score(vector[0], k) if vector else 0.0
    tag_boost = (1.0 - alpha) * rrf_score(tag[0], k) if tag else 0.0
    return FusedCandidate(
        content_hash=found.content_hash,
        created_at=found.created_at,
        score=vector_rrf + tag_boost,
        vector_rank=vector[0] if vector else None,
        vector_score=vector[1].raw_score if vector else None,
        vector_rrf=vector_rrf,
        tag_rank=tag[0] if tag else None,
        tag_score=tag[1].raw_score if tag else None,
        tag_boost=tag_boost,
        alpha=alpha,
    )
