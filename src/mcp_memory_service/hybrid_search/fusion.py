"""Any number of ranked lists fused into one score, with the arithmetic left open to inspection."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..models import Candidate
from .columns.candidates import Places, Scores
from .columns.fused import Fused, Vote
from .columns.pool import Pool
from .graph import Links, Route, link_boosts
from .signals import GRAPH, NEIGHBOUR, TAG, VECTOR, Signal, signal_of
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


def fuse_rrf(
    signals: Mapping[str, Sequence[Candidate]],
    weights: Mapping[str, float],
    k: int = RRF_K,
    links: Links | None = None,
) -> Fused:
    """Sum `weight / (k + rank)` over the signals, best first; a memory appears once however many found it.

    Each list must be in its signal's own order. A signal without weight has no vote. Links add to the sums as they do
    to those of `fuse_scores`.
    """
    return _fuse(signals, weights, lambda signal, scores: 1.0 / (k + signal.ranks(scores)), links=links)


def fuse_scores(
    signals: Mapping[str, Sequence[Candidate]],
    weights: Mapping[str, float],
    neighbour_weight: float = 0.0,
    links: Links | None = None,
) -> Fused:
    """Sum `weight · normalised score` over the signals, best first; `signals.py` says how each is normalised.

    With a neighbour weight, memories of one session then boost each other by a part of the difference of their sums;
    candidates listed under `neighbour` are there for that alone. Then links add what their leaders lend; those at
    their ends are listed under `graph`.
    """
    return _fuse(signals, weights, lambda signal, scores: signal.normalised(scores), neighbour_weight, links)


_Contribution: TypeAlias = Callable[[Signal, Scores], Scores]
"""From a signal and the scores of its list to the share of its weight that each candidate gets."""


def _fuse(
    signals: Mapping[str, Sequence[Candidate]],
    weights: Mapping[str, float],
    contribution: _Contribution,
    neighbour_weight: float = 0.0,
    links: Links | None = None,
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
    boosts: dict[str, Scores] = {}
    routes: dict[int, Route] = {}
    if neighbour_weight > 0 and everyone.sessions is not None:
        boosts[NEIGHBOUR] = pool.positions.boosts(totals, neighbour_weight)
        totals, voted = totals + boosts[NEIGHBOUR], voted | (boosts[NEIGHBOUR] > 0.0)
    if links is not None:
        boosts[GRAPH], routes = _through_links(pool, links, totals, voted)
        totals, voted = totals + boosts[GRAPH], voted | (boosts[GRAPH] > 0.0)
    return Fused(everyone.with_scores(totals), voted.nonzero()[0], _Tally(pool, contributions, boosts, routes).votes_at)


def _through_links(
    pool: Pool, links: Links, totals: Scores, found: NDArray[np.bool_]
) -> tuple[Scores, dict[int, Route]]:
    """What links add to each memory of the pool, and through which, by place."""
    listed: list[int] = pool.places[GRAPH].tolist()
    places = dict(zip(pool.lists[GRAPH].content_hashes, listed, strict=True))
    scores = {each: float(totals[place]) for each, place in places.items() if found[place]}
    boosts = np.zeros(totals.size)
    routes: dict[int, Route] = {}
    for each, boost in link_boosts(links, scores, float(totals.max(initial=0.0))).items():
        boosts[places[each]], routes[places[each]] = boost
    return boosts, routes


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
    boosts: Mapping[str, Scores]
    """What neighbours and links add to each memory of the pool."""
    routes: Mapping[int, Route]
    """Through which link, by place in the pool."""

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
        if self.routes:
            for place, cast in zip(places.tolist(), votes, strict=True):
                if GRAPH in cast:
                    cast[GRAPH] = cast[GRAPH]._replace(route=self.routes[place])
        return votes

    @cached_property
    def _columns(self) -> dict[str, _Column]:
        columns: dict[str, _Column] = {}
        for name, contributions in self.contributions.items():
            scores = self.pool.lists[name].scores
            columns[name] = self._column(self.pool.places[name], signal_of(name).ranks(scores), scores, contributions)
        for name, boosts in self.boosts.items():  # a list of their own, highest first; equals in the order of their ids
            order = self.pool.everyone.with_scores(boosts).best_first(boosts.nonzero()[0], by_age=False)
            columns[name] = self._column(order, rank_column(boosts[order]), boosts[order], boosts[order])
        return columns

    def _column(self, voted: Places, ranks: Places, scores: Scores, contributions: Scores) -> _Column:
        places = np.empty(self.pool.everyone.scores.size, np.int64)
        places.fill(-1)
        places[voted] = np.arange(voted.size)
        return _Column(places, ranks, scores, contributions)
