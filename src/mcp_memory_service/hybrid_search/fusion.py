"""Any number of ranked lists fused into one score, with the arithmetic left open to inspection."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from ..models import Candidate
from .match_rank import shared_ranks

RRF_K = 60

VECTOR, TAG, KEYWORD = "vector", "tag", "keyword"

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
    """Contribution of the vector signal: `alpha / (k + vector_rank)`, 0 without a vector rank."""
    tag_score: float | None
    tag_rank: int | None
    tag_boost: float
    """Contribution of the tag signal: `(1 - alpha) · tag weight / (k + tag_rank)`, 0 without a tag rank."""
    tag_matches: tuple[str, ...]
    keyword_score: float | None
    keyword_rank: int | None
    keyword_rrf: float
    """Contribution of the keyword signal: `(1 - alpha) · keyword weight / (k + keyword_rank)`, 0 without a rank."""
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
    return _fuse(signals, weights, lambda ranks, _: [rrf_score(rank, k) for rank in ranks])


def fuse_scores(signals: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float]) -> list[FusedCandidate]:
    """Sum `weight · normalised score` over the signals, best first; scores of a list are stretched to 0 … 1."""
    return _fuse(signals, weights, lambda _, scores: min_max(scores))


def min_max(scores: Sequence[float]) -> list[float]:
    """Scores stretched so that the least is 0 and the greatest 1; equal ones all count as 1."""
    least, greatest = min(scores, default=0.0), max(scores, default=0.0)
    if greatest == least:
        return [1.0] * len(scores)
    return [(score - least) / (greatest - least) for score in scores]


def debug_of(
    candidate: FusedCandidate, alpha: float, tag_matches: Sequence[str], fusion: FusionMethod
) -> HybridScoreDebug:
    """The breakdown of a score; `tag_matches` are the memory's tags that were looked for."""
    vector, tag, keyword = (candidate.votes.get(name) for name in (VECTOR, TAG, KEYWORD))
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


_Contribution: TypeAlias = Callable[[list[int], list[float]], list[float]]


def _fuse(
    signals: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], contribution: _Contribution
) -> list[FusedCandidate]:
    ranked: dict[str, _Ranked] = {}
    totals: dict[str, float] = {}
    dates: dict[str, int] = {}
    for name, found in signals.items():
        weight = weights.get(name, 0.0)
        if weight <= 0:
            continue
        scores = [candidate.raw_score for candidate in found]
        ranks = shared_ranks(scores) if name in _SHARED_RANKS else list(range(1, len(found) + 1))
        contributions = [weight * share for share in contribution(ranks, scores)]
        for candidate, share in zip(found, contributions, strict=True):
            content_hash = candidate.content_hash
            totals[content_hash] = totals.get(content_hash, 0.0) + share
            dates[content_hash] = candidate.created_at
        positions = {candidate.content_hash: position for position, candidate in enumerate(found)}
        ranked[name] = _Ranked(positions, ranks, scores, contributions)
    fused = [
        FusedCandidate(content_hash, dates[content_hash], total, _Votes(content_hash, ranked))
        for content_hash, total in totals.items()
    ]
    return sorted(fused, key=best_first)
