"""Any number of ranked lists fused into one score, with the arithmetic left open to inspection."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from ..models import Candidate
from .columns.candidates import Candidates
from .columns.fused import Fused, FusedCandidate, SignalVotes, VotesFor, order_of
from .columns.pool import Pool
from .graph import Places, Scores
from .tag_weights import rank_column

RRF_K = 60
# One to three are within 0.006 NDCG@10 of each other on every set (docs/adr/0008).
BACKGROUND_DEVIATIONS = 2.0

VECTOR, TAG, KEYWORD, NEIGHBOUR = "vector", "tag", "keyword", "neighbour"

# Equal scores of these signals say nothing about each other: they share a rank, and other signals decide.
_SHARED_RANKS = frozenset({TAG, KEYWORD})

FusionMethod: TypeAlias = Literal["rrf", "score"]


@dataclass(frozen=True, slots=True)
class HybridScoreDebug:
    """How one score came about: `final_score = (sum of the contributions) · recency_factor`."""

    vector_score: float | None
    """Cosine similarity; None when the vector signal did not find the memory."""
    vector_rank: int | None
    vector_rrf: float
    """Contribution of the vector signal, with the name it has for ranks: `alpha · scaled score`, or with fusion `rrf`
    `alpha / (k + vector_rank)`; 0 without a rank. The same for the others, with `(1 - alpha) · their weight`."""
    tag_score: float | None
    tag_rank: int | None
    tag_boost: float
    tag_matches: tuple[str, ...]
    keyword_score: float | None
    keyword_rank: int | None
    keyword_rrf: float
    neighbour_boost: float
    """What a neighbour in the same session lends: at most neighbour weight · the difference of their scores."""
    recency_factor: float
    final_score: float
    alpha_used: float
    fusion: FusionMethod = field(default="rrf")


def rrf_score(rank: int, k: int = RRF_K) -> float:
    """`1 / (k + rank)`; ranks are 1-based."""
    if rank < 1:
        raise ValueError(f"A rank starts at 1, not {rank}.")
    return 1.0 / (k + rank)


def combine_results_rrf(
    vector_results: Sequence[Candidate], tag_matches: Sequence[Candidate], alpha: float, k: int = RRF_K
) -> Fused:
    """Fuse the vector and the tag list: `alpha / (k + vector rank) + (1 - alpha) / (k + tag rank)`, best first."""
    return fuse_rrf({VECTOR: vector_results, TAG: tag_matches}, {VECTOR: alpha, TAG: 1.0 - alpha}, k)


def fuse_rrf(signals: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], k: int = RRF_K) -> Fused:
    """Sum `weight / (k + rank)` over the signals, best first; a memory appears once however many found it.

    Each list must be in its signal's own order. A signal without weight has no vote.
    """
    return _fuse(signals, weights, lambda name, scores: 1.0 / (k + _ranks(name, scores)))


def fuse_scores(
    signals: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], neighbour_weight: float = 0.0
) -> Fused:
    """Sum `weight · normalised score` over the signals, best first.

    Vector scores are stretched to 0 … 1 above their background, keyword scores count as a share of the best. Tag scores
    are shares already (how rare the matched tags are) and count as they are, at most 1: a tag that half of the memories
    carry is hardly a reason, however few were found. With a neighbour weight, memories of one session then lend each
    other of their sums; candidates listed under `neighbour` are there for that alone.
    """
    return _fuse(signals, weights, _normalised, neighbour_weight)


def _normalised(name: str, scores: Scores) -> Scores:
    if name == TAG:
        return np.minimum(1.0, scores)
    return _above_background(scores) if name == VECTOR else _share_of_best(scores)


def above_background(scores: Sequence[float]) -> list[float]:
    """Scores stretched so that the greatest is 1, and 0 is two standard deviations below their mean or the least of
    them, whichever is lower: similarities have no natural zero, and the second of two is not worth nothing."""
    return _above_background(np.asarray(scores, np.float64)).tolist()


def _above_background(scores: Scores) -> Scores:
    if not len(scores):
        return scores
    greatest = scores.max()
    floor = min(scores.min(), scores.mean() - BACKGROUND_DEVIATIONS * scores.std())
    return (scores - floor) / (greatest - floor) if greatest > floor else np.ones(len(scores))


def share_of_best(scores: Sequence[float]) -> list[float]:
    """Scores as a share of the greatest; what is not listed would be 0, as a text without the words is."""
    return _share_of_best(np.asarray(scores, np.float64)).tolist()


def _share_of_best(scores: Scores) -> Scores:
    greatest = scores.max(initial=0.0)
    return scores / greatest if greatest > 0.0 else np.ones(len(scores))


def debug_of(
    candidate: FusedCandidate, alpha: float, tag_matches: Sequence[str], fusion: FusionMethod
) -> HybridScoreDebug:
    """The breakdown of a score; `tag_matches` are the memory's tags that were looked for."""
    vector, tag, keyword, neighbour = (candidate.votes.get(name) for name in (VECTOR, TAG, KEYWORD, NEIGHBOUR))
    return HybridScoreDebug(
        vector_score=vector.score if vector else None,
        vector_rank=vector.rank if vector else None,
        vector_rrf=vector.contribution if vector else 0.0,
        tag_score=tag.score if tag else None,
        tag_rank=tag.rank if tag else None,
        tag_boost=tag.contribution if tag else 0.0,
        tag_matches=tuple(tag_matches) if tag else (),
        keyword_score=keyword.score if keyword else None,
        keyword_rank=keyword.rank if keyword else None,
        keyword_rrf=keyword.contribution if keyword else 0.0,
        neighbour_boost=neighbour.contribution if neighbour else 0.0,
        recency_factor=candidate.recency_factor,
        final_score=candidate.score,
        alpha_used=alpha,
        fusion=fusion,
    )


@dataclass(frozen=True, eq=False)
class _Tally:
    """How each signal voted. The votes for a memory are put together when the first one is looked at."""

    pool: Pool
    contributions: Mapping[str, Scores]
    lent: Candidates | None
    """The pool with what neighbours lend as scores."""

    def votes_at(self, place: int) -> VotesFor:
        return VotesFor(self._signals, place)

    @cached_property
    def _signals(self) -> dict[str, SignalVotes]:
        size = len(self.pool.everyone)
        signals: dict[str, SignalVotes] = {}
        for name, contributions in self.contributions.items():
            scores = self.pool[name].scores
            signals[name] = SignalVotes.cast(self.pool.places[name], size, _ranks(name, scores), scores, contributions)
        if self.lent is not None:
            signals[NEIGHBOUR] = _votes_of_neighbours(self.lent)
        return signals


_Contribution: TypeAlias = Callable[[str, Scores], Scores]
"""From the name and the scores of a signal's list to the share of its weight that each candidate gets."""


def _fuse(
    signals: Mapping[str, Sequence[Candidate]],
    weights: Mapping[str, float],
    contribution: _Contribution,
    neighbour_weight: float = 0.0,
) -> Fused:
    pool = Pool.of(signals)
    totals, voted = np.zeros(len(pool.everyone)), np.zeros(len(pool.everyone), np.bool_)
    contributions: dict[str, Scores] = {}
    for name, found in pool.items():
        weight = weights.get(name, 0.0)
        if weight <= 0:
            continue
        contributions[name] = weight * contribution(name, found.scores)
        np.add.at(totals, pool.places[name], contributions[name])
        voted[pool.places[name]] = True
    lent = None
    if neighbour_weight > 0 and pool.everyone.sessions is not None:
        lent = replace(pool.everyone, scores=pool.seats.lent(totals, neighbour_weight))
        totals = totals + lent.scores
        voted |= lent.scores > 0.0
    fused = replace(pool.everyone, scores=totals)
    return Fused(fused, np.flatnonzero(voted), _Tally(pool, contributions, lent).votes_at)


def _ranks(name: str, scores: Scores) -> Places:
    return rank_column(scores) if name in _SHARED_RANKS else np.arange(1, len(scores) + 1)


def _votes_of_neighbours(lent: Candidates) -> SignalVotes:
    """What is lent as a list of its own, most first; equals in the order of their ids."""
    alike = replace(lent, created_at=np.zeros(len(lent), np.int64))
    order = order_of(alike, np.flatnonzero(lent.scores))
    scores = lent.scores[order]
    return SignalVotes.cast(order, len(lent), rank_column(scores), scores, scores)
