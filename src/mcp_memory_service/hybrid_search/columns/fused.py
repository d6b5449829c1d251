"""What fusion gives: memories in the order of their scores, as columns, each with the votes it is made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import NamedTuple, TypeAlias, cast, overload

import numpy as np

from ...models import Candidate
from ..graph import Route
from .candidates import Candidates, Places, Scores


class Vote(NamedTuple):
    """What one signal says of one memory."""

    rank: int
    score: float
    contribution: float
    """To the fused score: weight / (k + rank), or weight · normalised score."""
    route: Route | None = None
    """Through which link, if it is the vote of the graph."""


class FusedCandidate(NamedTuple):
    """A memory that at least one signal found, with its fused score and the votes it is made of."""

    content_hash: str
    created_at: int
    score: float
    contributions: Mapping[str, Vote]
    recency_factor: float = 1.0


def best_first(candidate: Candidate | FusedCandidate) -> tuple[float, int, str]:
    """The one sort key: of equals the newer, then the smaller id. `Candidates.best_first` gives the same order of
    columns."""
    return (-candidate.score, -candidate.created_at, candidate.content_hash)


VotesAt: TypeAlias = Callable[[Places], Sequence[Mapping[str, Vote]]]
"""The votes for the memories at some places in a pool."""


@dataclass(frozen=True, eq=False)
class Fused(Sequence[FusedCandidate]):
    """Fused candidates, best first. Of a thousand that are ranked ten are looked at: only they are made, and sorted is
    what is looked at."""

    pool: Candidates
    """All that any signal found, in no order, also those that got no vote; their scores are the fused ones."""
    members: Places
    """Where in the pool those are that got a vote."""
    votes_at: VotesAt
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
        votes = [item.contributions for item in items]

        def votes_at(places: Places) -> list[Mapping[str, Vote]]:
            listed: list[int] = places.tolist()
            return [votes[place] for place in listed]

        return cls(pool, np.arange(len(items)), votes_at, factors, sorted=True)

    @cached_property
    def order(self) -> Places:
        """Places in the pool, best first."""
        return self.members if self.sorted else self.pool.best_first(self.members)

    @property
    def content_hashes(self) -> list[str]:
        """Best first."""
        return list(self.pool.take(self.order).content_hashes)

    @property
    def best_score(self) -> float:
        return float(self.pool.scores[self.order[0]])

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def __getitem__(self, index: int) -> FusedCandidate: ...
    @overload
    def __getitem__(self, index: slice) -> "Fused": ...
    def __getitem__(self, index: int | slice) -> "FusedCandidate | Fused":
        if isinstance(index, slice):
            return replace(self, members=self.order[index], sorted=True)
        (found,) = self._at(self.order[[index]])
        return found

    def at(self, places: Sequence[int]) -> "Fused":
        """Those at some places of the order, from 0."""
        return replace(self, members=self.order[list(places)], sorted=True)

    def __iter__(self) -> Iterator[FusedCandidate]:
        return self._at(self.order)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as a list

    def _at(self, places: Places) -> Iterator[FusedCandidate]:
        found, factors = self.pool.take(places), self.recency_factors
        return map(
            FusedCandidate,
            found.content_hashes,
            found.created_at.tolist(),
            found.scores.tolist(),
            self.votes_at(places),
            repeat(1.0) if factors is None else factors[places].tolist(),
        )

    def place_of(self, content_hash: str) -> int | None:
        """1-based place in the order; None if it is not there."""
        try:
            pooled = self.pool.content_hashes.index(content_hash)
        except ValueError:
            return None
        places = np.flatnonzero(self.order == pooled)
        return int(places[0]) + 1 if len(places) else None
