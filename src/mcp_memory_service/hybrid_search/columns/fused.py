"""What fusion gives: memories in the order of their scores, as columns, each with the votes it is made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from ...models import Candidate
from .arrays import Places, Scores
from .candidates import Candidates
from .digests import Digests


class Vote(NamedTuple):
    """What one signal says of one memory."""

    rank: int
    score: float
    contribution: float
    """To the fused score: weight / (k + rank), or weight · normalised score."""


class FusedCandidate(NamedTuple):
    """A memory that at least one signal found, with its fused score and the votes it is made of."""

    content_hash: str
    created_at: int
    score: float
    contributions: Mapping[str, Vote]
    recency_factor: float = 1.0


def best_first(candidate: Candidate | FusedCandidate) -> tuple[float, int, str]:
    """The one sort key: of equals the newer, then the smaller id. `order_of` gives the same order of columns."""
    return (-candidate.score, -candidate.created_at, candidate.content_hash)


@dataclass(frozen=True, eq=False)
class Fused(Sequence[FusedCandidate]):
    """Fused candidates, best first. Of a thousand that are ranked ten are looked at: only they are made, and sorted is
    what is looked at."""

    pool: Candidates
    """All that any signal found, in no order, also those that got no vote; their scores are the fused ones."""
    members: Places
    """Where in the pool those are that got a vote."""
    votes_at: Callable[[int], Mapping[str, Vote]]
    """The votes for the memory at a place in the pool."""
    recency_factors: Scores | None = None
    """By place in the pool."""
    sorted: bool = False
    """Whether the members are in order already."""

    @classmethod
    def of(cls, items: Sequence[FusedCandidate]) -> "Fused":
        """The same candidates in the same order; those that are columns already as they are."""
        if isinstance(items, cls):
            return items
        pool = Candidates(
            [item.content_hash for item in items],
            np.array([item.created_at for item in items], np.int64),
            np.array([item.score for item in items], np.float64),
        )
        factors = np.array([item.recency_factor for item in items], np.float64)
        return cls(
            pool, np.arange(len(items)), [item.contributions for item in items].__getitem__, factors, sorted=True
        )

    @cached_property
    def order(self) -> Places:
        """Places in the pool, best first."""
        return self.members if self.sorted else order_of(self.pool, self.members)

    @property
    def content_hashes(self) -> list[str]:
        """Best first."""
        places: list[int] = self.order.tolist()
        return [self.pool.content_hashes[place] for place in places]

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def __getitem__(self, index: int) -> FusedCandidate: ...
    @overload
    def __getitem__(self, index: slice) -> "Fused": ...
    def __getitem__(self, index: int | slice) -> "FusedCandidate | Fused":
        if isinstance(index, slice):
            return replace(self, members=self.order[index], sorted=True)
        return self._at(int(self.order[index]))

    def __iter__(self) -> Iterator[FusedCandidate]:
        return map(self._at, self.order.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as a list

    def _at(self, place: int) -> FusedCandidate:
        return FusedCandidate(
            self.pool.content_hashes[place],
            int(self.pool.created_at[place]),
            float(self.pool.scores[place]),
            self.votes_at(place),
            1.0 if self.recency_factors is None else float(self.recency_factors[place]),
        )

    def place_of(self, content_hash: str) -> int | None:
        """1-based place in the order; None if it is not there."""
        try:
            pooled = self.pool.content_hashes.index(content_hash)
        except ValueError:
            return None
        places = np.flatnonzero(self.order == pooled)
        return int(places[0]) + 1 if len(places) else None


class SignalVotes(NamedTuple):
    """One signal's votes, as columns in the order of its list."""

    places: Places
    """Where in the list each memory of the pool is; -1 if the signal did not find it."""
    ranks: Places
    scores: Scores
    contributions: Scores

    @classmethod
    def cast(cls, voted: Places, pool_size: int, ranks: Places, scores: Scores, contributions: Scores) -> "SignalVotes":
        """From the places in the pool of those that are voted for, in the order of the list."""
        places = np.full(pool_size, -1)
        places[voted] = np.arange(len(voted))
        return cls(places, ranks, scores, contributions)


class VotesFor(Mapping[str, Vote]):
    """The votes for one memory, looked up when they are asked for."""

    __slots__ = ("_place", "_signals")

    def __init__(self, signals: Mapping[str, SignalVotes], place: int) -> None:
        self._signals = signals
        self._place = place

    def __getitem__(self, name: str) -> Vote:
        signal = self._signals[name]
        listed = signal.places[self._place]
        if listed < 0:
            raise KeyError(name)
        return Vote(int(signal.ranks[listed]), float(signal.scores[listed]), float(signal.contributions[listed]))

    def __iter__(self) -> Iterator[str]:
        return (name for name, signal in self._signals.items() if signal.places[self._place] >= 0)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def order_of(pool: Candidates, members: Places) -> Places:
    """These places of the pool by falling score; of equals the newer, then the smaller id."""
    order = members[np.argsort(-pool.scores[members])]
    equal = _same_as_before(pool.scores[order])
    if equal.any():
        tied = equal.copy()
        tied[:-1] |= equal[1:]
        order[tied] = _newest_first(pool, order[tied], np.cumsum(~equal, dtype=np.int64)[tied])
    return order


def _newest_first(pool: Candidates, places: Places, runs: Places) -> Places:
    """Places in runs of equal scores, each run sorted; ids are compared only where nothing else tells two apart."""
    by_age = np.lexsort((~pool.created_at[places], runs))  # ~ turns the order round as - does, and cannot overflow
    places, runs = places[by_age], runs[by_age]
    twins = _same_as_before(runs) & _same_as_before(pool.created_at[places])
    if not twins.any():
        return places
    groups = np.cumsum(~twins, dtype=np.int64)
    ids = pool.content_hashes
    if isinstance(ids, Digests):  # an import gives the same moment to thousands
        words = np.ascontiguousarray(ids.rows[places]).view(">u8")
        return places[np.lexsort((*words.T[::-1], groups))]
    by_id = sorted(zip(groups.tolist(), [ids[place] for place in places], places.tolist(), strict=True))
    return np.array([place for _, _, place in by_id], np.int64)


def _same_as_before(values: Places | Scores) -> NDArray[np.bool_]:
    same = np.zeros(len(values), np.bool_)
    np.equal(values[1:], values[:-1], out=same[1:])
    return same
