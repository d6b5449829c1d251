"""Any number of ranked lists fused into one score, with the arithmetic left open to inspection."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ..models import Candidate
from .columns.arrays import Scores
from .columns.candidates import Candidates
from .columns.fused import Fused, SignalVotes, VotesFor, order_of
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


@dataclass(frozen=True, eq=False)
class _Tally:
    """How each signal voted. The votes for a memory are put together when the first one is looked at."""

    pool: Pool
    contributions: Mapping[str, Scores]
    boosted: Candidates | None
    """The pool with what neighbours add as scores."""

    def votes_at(self, place: int) -> VotesFor:
        return VotesFor(self._votes, place)

    @cached_property
    def _votes(self) -> dict[str, SignalVotes]:
        size = len(self.pool.everyone)
        votes: dict[str, SignalVotes] = {}
        for name, contributions in self.contributions.items():
            scores = self.pool[name].scores
            ranks = signal_of(name).ranks(scores)
            votes[name] = SignalVotes.cast(self.pool.places[name], size, ranks, scores, contributions)
        if self.boosted is not None:
            votes[NEIGHBOUR] = _votes_of_neighbours(self.boosted)
        return votes


_Contribution: TypeAlias = Callable[[Signal, Scores], Scores]
"""From a signal and the scores of its list to the share of its weight that each candidate gets."""


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
        contributions[name] = weight * contribution(signal_of(name), found.scores)
        np.add.at(totals, pool.places[name], contributions[name])
        voted[pool.places[name]] = True
    boosted = None
    if neighbour_weight > 0 and pool.everyone.sessions is not None:
        boosted = replace(pool.everyone, scores=pool.positions.boosts(totals, neighbour_weight))
        totals = totals + boosted.scores
        voted |= boosted.scores > 0.0
    fused = replace(pool.everyone, scores=totals)
    return Fused(fused, np.flatnonzero(voted), _Tally(pool, contributions, boosted).votes_at)


def _votes_of_neighbours(boosted: Candidates) -> SignalVotes:
    """The boosts as a list of its own, highest first; equals in the order of their ids."""
    alike = replace(boosted, created_at=np.zeros(len(boosted), np.int64))
    order = order_of(alike, np.flatnonzero(boosted.scores))
    scores = boosted.scores[order]
    return SignalVotes.cast(order, len(boosted), rank_column(scores), scores, scores)
