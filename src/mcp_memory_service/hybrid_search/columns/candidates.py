"""What a signal finds, as columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from ...models import Candidate
from .digests import Digests

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """What a signal finds, as columns: a window of a thousand is ranked by a few array operations, and a `Candidate` is
    made only where one is looked at. Equal to any sequence of the same candidates."""

    content_hashes: Sequence[str]
    created_at: NDArray[np.int64]
    scores: NDArray[np.float64]
    sessions: Sequence[str | None] | None = None
    sequences: Sequence[int | None] | None = None
    """None if no candidate has any."""

    @classmethod
    def of(cls, items: Sequence[Candidate]) -> "Candidates":
        """The same candidates; those that are columns already as they are."""
        if isinstance(items, cls):
            return items
        if not items:
            return cls((), np.empty(0, np.int64), np.empty(0, np.float64))
        hashes, created_at, scores, sessions, sequences = zip(*items, strict=True)
        return cls(
            hashes,
            np.array(created_at, np.int64),
            np.array(scores, np.float64),
            _unless_all_none(sessions),
            _unless_all_none(sequences),
        )

    def __len__(self) -> int:
        return len(self.content_hashes)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> "Candidates": ...
    def __getitem__(self, index: int | slice) -> "Candidate | Candidates":
        if isinstance(index, slice):
            return Candidates(
                self.content_hashes[index],
                self.created_at[index],
                self.scores[index],
                None if self.sessions is None else self.sessions[index],
                None if self.sequences is None else self.sequences[index],
            )
        return Candidate(
            self.content_hashes[index],
            int(self.created_at[index]),
            float(self.scores[index]),
            None if self.sessions is None else self.sessions[index],
            None if self.sequences is None else self.sequences[index],
        )

    def __iter__(self) -> Iterator[Candidate]:
        sessions = repeat(None) if self.sessions is None else self.sessions
        sequences = repeat(None) if self.sequences is None else self.sequences
        columns = (self.content_hashes, self.created_at.tolist(), self.scores.tolist(), sessions, sequences)
        return map(Candidate._make, zip(*columns, strict=False))  # `repeat` has no end

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as a list

    def take(self, places: Sequence[int] | NDArray[np.int64]) -> "Candidates":
        """Those at the given places, in that order."""
        chosen = np.asarray(places, np.int64)
        listed: list[int] = chosen.tolist()
        return Candidates(
            self.content_hashes.take(chosen)
            if isinstance(self.content_hashes, Digests)
            else [self.content_hashes[place] for place in listed],
            self.created_at[chosen],
            self.scores[chosen],
            None if self.sessions is None else [self.sessions[place] for place in listed],
            None if self.sequences is None else [self.sequences[place] for place in listed],
        )


def _unless_all_none(column: tuple[T | None, ...]) -> tuple[T | None, ...] | None:
    return None if column.count(None) == len(column) else column
