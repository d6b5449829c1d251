"""Any number of ranked lists fused into one score, with the arithmetic left open to inspection."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ..models import Candidate
from .match_rank import shared_ranks
from .neighbours import lent_scores

RRF_K = 60
# One to three are within 0.006 NDCG@10 of each other on every set (docs/adr/0008).
BACKGROUND_DEVIATIONS = 2.0

VECTOR, TAG, KEYWORD, NEIGHBOUR = "vector", "tag", "keyword", "neighbour"

# Equal scores of these signals say nothing about each other: they share a rank, and other signals decide.
_SHARED_RANKS = frozenset({TAG, KEYWORD})

FusionMethod: TypeAlias = Literal["rrf", "score"]


class Vote(NamedTuple):
    """What one signal says of one memory."""

    rank: int
    raw_score: float
    contribution: float
    """To the fused score: weight / (k + rank), or weight · normalised score."""


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


class FusedCandidate(NamedTuple):
    """A memory that at least one signal found, with its fused score and the votes it is made of.

    A named tuple and not a dataclass: thousands are made for a query, and tuples are made three times as fast.
    """

    content_hash: str
    created_at: int
    score: float
    votes: Mapping[str, Vote]
    recency_factor: float = 1.0


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
    """Fuse the vector and the tag list: `alpha / (k + vector rank) + (1 - alpha) / (k + tag rank)`, best first."""
    return fuse_rrf({VECTOR: vector_results, TAG: tag_matches}, {VECTOR: alpha, TAG: 1.0 - alpha}, k)


def fuse_rrf(
    signals: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], k: int = RRF_K
) -> list[FusedCandidate]:
    """Sum `weight / (k + rank)` over the signals, best first; a memory appears once however many found it.

    Each list must be in its signal's own order. A signal without weight has no vote.
    """
    return _fuse(signals, weights, lambda _name, ranks, _scores: [rrf_score(rank, k) for rank in ranks])


def fuse_scores(
    signals: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], neighbour_weight: float = 0.0
) -> list[FusedCandidate]:
    """Sum `weight · normalised score` over the signals, best first.

    Vector scores are stretched to 0 … 1 above their background, keyword scores count as a share of the best. Tag scores
    are shares already (how rare the matched tags are) and count as they are, at most 1: a tag that half of the memories
    carry is hardly a reason, however few were found. With a neighbour weight, memories of one session then lend each
    other of their sums; candidates listed under `neighbour` are there for that alone.
    """
    return _fuse(signals, weights, _normalised, neighbour_weight)


def _normalised(name: str, _: list[int], scores: list[float]) -> list[float]:
    if name == TAG:
        return [min(1.0, score) for score in scores]
    return above_background(scores) if name == VECTOR else share_of_best(scores)


def above_background(scores: Sequence[float]) -> list[float]:
    """Scores stretched so that the greatest is 1, and 0 is two standard deviations below their mean or the least of
    them, whichever is lower: similarities have no natural zero, and the second of two is not worth nothing."""
    if not scores:
        return []
    values = np.asarray(scores, dtype=np.float64)
    greatest = values.max()
    floor = min(values.min(), values.mean() - BACKGROUND_DEVIATIONS * values.std())
    if greatest <= floor:
        return [1.0] * len(scores)
    return ((values - floor) / (greatest - floor)).tolist()


def share_of_best(scores: Sequence[float]) -> list[float]:
    """Scores as a share of the greatest; what is not listed would be 0, as a text without the words is."""
    greatest = max(scores, default=0.0)
    return [score / greatest if greatest > 0.0 else 1.0 for score in scores]


def debug_of(
    candidate: FusedCandidate, alpha: float, tag_matches: Sequence[str], fusion: FusionMethod
) -> HybridScoreDebug:
    """The breakdown of a score; `tag_matches` are the memory's tags that were looked for."""
    vector, tag, keyword, neighbour = (candidate.votes.get(name) for name in (VECTOR, TAG, KEYWORD, NEIGHBOUR))
    return HybridScoreDebug(
        vector_score=vector.raw_score if vector else None,
        vector_rank=vector.rank if vector else None,
        vector_rrf=vector.contribution if vector else 0.0,
        tag_score=tag.raw_score if tag else None,
        tag_rank=tag.rank if tag else None,
        tag_boost=tag.contribution if tag else 0.0,
        tag_matches=tuple(tag_matches) if tag else (),
        keyword_score=keyword.raw_score if keyword else None,
        keyword_rank=keyword.rank if keyword else None,
        keyword_rrf=keyword.contribution if keyword else 0.0,
        neighbour_boost=neighbour.contribution if neighbour else 0.0,
        recency_factor=candidate.recency_factor,
        final_score=candidate.score,
        alpha_used=alpha,
        fusion=fusion,
    )


class _Ranked(NamedTuple):
    """One signal's list with its votes, as columns: a list of a thousand votes would mostly be made for nothing."""

    positions: Mapping[str, int]
    ranks: Sequence[int]
    scores: Sequence[float]
    contributions: Sequence[float]


class _Votes(Mapping[str, Vote]):
    """The votes for one memory, looked up when they are asked for."""

    __slots__ = ("_content_hash", "_signals")

    def __init__(self, content_hash: str, signals: Mapping[str, _Ranked]) -> None:
        self._content_hash = content_hash
        self._signals = signals

    def __getitem__(self, name: str) -> Vote:
        ranked = self._signals[name]
        position = ranked.positions[self._content_hash]
        return Vote(ranked.ranks[position], ranked.scores[position], ranked.contributions[position])

    def __iter__(self) -> Iterator[str]:
        return (name for name, ranked in self._signals.items() if self._content_hash in ranked.positions)

    def __len__(self) -> int:
        return sum(1 for _ in self)


_Contribution: TypeAlias = Callable[[str, list[int], list[float]], list[float]]
"""From the name, ranks and scores of a signal's list to the share of its weight that each candidate gets."""


def _fuse(
    signals: Mapping[str, Sequence[Candidate]],
    weights: Mapping[str, float],
    contribution: _Contribution,
    neighbour_weight: float = 0.0,
) -> list[FusedCandidate]:
    ranked: dict[str, _Ranked] = {}
    totals: dict[str, float] = {}
    candidates: dict[str, Candidate] = {}
    for name, found in signals.items():
        candidates.update((candidate.content_hash, candidate) for candidate in found)
        weight = weights.get(name, 0.0)
        if weight <= 0:
            continue
        scores = [candidate.raw_score for candidate in found]
        ranks = shared_ranks(scores) if name in _SHARED_RANKS else list(range(1, len(found) + 1))
        contributions = [weight * share for share in contribution(name, ranks, scores)]
        for candidate, share in zip(found, contributions, strict=True):
            totals[candidate.content_hash] = totals.get(candidate.content_hash, 0.0) + share
        positions = {candidate.content_hash: position for position, candidate in enumerate(found)}
        ranked[name] = _Ranked(positions, ranks, scores, contributions)
    if neighbour_weight > 0:
        lent = lent_scores(candidates.values(), totals, neighbour_weight)
        ranked[NEIGHBOUR] = _ranked_by(lent)
        for content_hash, share in lent.items():
            totals[content_hash] = totals.get(content_hash, 0.0) + share
    fused = [
        FusedCandidate(content_hash, candidates[content_hash].created_at, total, _Votes(content_hash, ranked))
        for content_hash, total in totals.items()
    ]
    return sorted(fused, key=best_first)


def _ranked_by(lent: Mapping[str, float]) -> _Ranked:
    """What is lent as a list of its own, most first; equals in the order of their ids."""
    order = sorted(lent, key=lambda content_hash: (-lent[content_hash], content_hash))
    scores = [lent[content_hash] for content_hash in order]
    return _Ranked(
        {content_hash: position for position, content_hash in enumerate(order)}, shared_ranks(scores), scores, scores
    )
