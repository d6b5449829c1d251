"""Any number of ranked lists fused into one score, with the arithmetic left open to inspection."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from ..models import Candidate
from .columns.candidates import Candidates, Places, Scores
from .columns.fused import Fused, Vote
from .columns.pool import Pool
from .signals import NEIGHBOUR, TAG, VECTOR, Signal, signal_of
from .tag_weights import rank_column

RRF_K = 60


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
    return _fuse(signals, weights, lambda signal, scores: 1.0 / (k + signal.ranks(scores)))


def fuse_scores(
    signals: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float], neighbour_weight: float = 0.0
) -> Fused:
    """Sum `weight · normalised score` over the signals, best first; `signals.py` says how each is normalised.

    With a neighbour weight, memories of one session then boost each other by a part of the difference of their sums;
    candidates listed under `neighbour` are there for that alone.
    """
    return _fuse(signals, weights, lambda signal, scores: signal.normalised(scores), neighbour_weight)


_Contribution: TypeAlias = Callable[[Signal, Scores], Scores]
"""From a signal and the scores of its list to the share of its weight that each candidate gets."""


def _fuse(
    signals: Mapping[str, Sequence[Candidate]],
    weights: Mapping[str, float],
    contribution: _Contribution,
    neighbour_weight: float = 0.0,
) -> Fused:
    pool = Pool.of(signals)
    everyone, size = pool.everyone, pool.everyone.scores.size
    totals, voted = np.zeros(size), np.zeros(size, np.bool_)
    contributions: dict[str, Scores] = {}
    for name, found in pool.lists.items():
        weight = weights.get(name, 0.0)
        if weight <= 0:
            continue
        contributions[name] = weight * contribution(signal_of(name), found.scores)
        totals += np.bincount(pool.places[name], contributions[name], size)
        voted[pool.places[name]] = True
    boosted = None
    if neighbour_weight > 0 and everyone.sessions is not None:
        boosted = everyone.with_scores(pool.positions.boosts(totals, neighbour_weight))
        totals = totals + boosted.scores
        voted |= boosted.scores > 0.0
    return Fused(everyone.with_scores(totals), voted.nonzero()[0], _Tally(pool, contributions, boosted).votes_at)


class _Column(NamedTuple):
    """One signal's votes, in the order of its list."""

    places: Places
    """Where in the list each memory of the pool is; -1 if the signal did not find it."""
    ranks: Places
    scores: Scores
    contributions: Scores


@dataclass(frozen=True, eq=False)
class _Tally:
    """How each signal voted. The votes for a memory are put together when it is looked at."""

    pool: Pool
    contributions: Mapping[str, Scores]
    boosted: Candidates | None
    """The pool with what neighbours add as scores."""

    def votes_at(self, places: Places) -> list[dict[str, Vote]]:
        votes: list[dict[str, Vote]] = [{} for _ in range(places.size)]
        for name, column in self._columns.items():
            listed = column.places[places]
            (there,) = (listed >= 0).nonzero()
            rows = listed[there]
            ranks, scores, shares = column.ranks[rows], column.scores[rows], column.contributions[rows]
            for place, vote in zip(
                there.tolist(), map(Vote, ranks.tolist(), scores.tolist(), shares.tolist()), strict=True
            ):
                votes[place][name] = vote
        return votes

    @cached_property
    def _columns(self) -> dict[str, _Column]:
        columns: dict[str, _Column] = {}
        for name, contributions in self.contributions.items():
            scores = self.pool.lists[name].scores
            columns[name] = self._column(self.pool.places[name], signal_of(name).ranks(scores), scores, contributions)
        if self.boosted is not None:  # the boosts as a list of its own, highest first; equals in the order of their ids
            order = self.boosted.best_first(self.boosted.scores.nonzero()[0], by_age=False)
            scores = self.boosted.scores[order]
            columns[NEIGHBOUR] = self._column(order, rank_column(scores), scores, scores)
        return columns

    def _column(self, voted: Places, ranks: Places, scores: Scores, contributions: Scores) -> _Column:
        places = np.empty(self.pool.everyone.scores.size, np.int64)
        places.fill(-1)
        places[voted] = np.arange(voted.size)
        return _Column(places, ranks, scores, contributions)
