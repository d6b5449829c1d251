"""What a signal finds, as columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from ...models import Candidate
from .digests import Digests, joined_digests

T = TypeVar("T")
Places: TypeAlias = NDArray[np.int64]
Scores: TypeAlias = NDArray[np.float64]


def mean_and_deviation(column: NDArray[np.floating]) -> tuple[np.floating, np.floating]:
    """Of at least one number: the steps of numpy's own methods without their layers, so that the bits are the same."""
    mean = np.add.reduce(column) / column.dtype.type(column.size)
    distances = column - mean
    return mean, np.sqrt(np.add.reduce(distances * distances) / column.dtype.type(column.size))


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """What a signal finds, as columns: a window of a thousand is ranked by a few array operations, and a `Candidate` is
    made only where one is looked at. Equal to any sequence of the same candidates."""

    content_hashes: Sequence[str]
    created_at: NDArray[np.int64]
    scores: Scores
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

    @classmethod
    def joined(cls, parts: Sequence["Candidates"]) -> "Candidates":
        """One after the other."""
        parts = [part for part in parts if part.scores.size]
        if len(parts) < 2:
            return parts[0] if parts else cls.of(())
        hashes = [part.content_hashes for part in parts]
        digests = joined_digests(hashes)
        return cls(
            list(chain(*hashes)) if digests is None else digests,
            np.concatenate([part.created_at for part in parts]),
            np.concatenate([part.scores for part in parts]),
            _joined([(part.sessions, part.scores.size) for part in parts]),
            _joined([(part.sequences, part.scores.size) for part in parts]),
        )

    def __len__(self) -> int:
        return self.scores.size

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> "Candidates": ...
    def __getitem__(self, index: int | slice) -> "Candidate | Candidates":
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
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

    def take(self, places: Sequence[int] | Places) -> "Candidates":
        """Those at the given places, in that order."""
        chosen, hashes = np.asarray(places, np.int64), self.content_hashes
        listed: list[int] = chosen.tolist()
        return Candidates(
            hashes.take(chosen) if isinstance(hashes, Digests) else [hashes[place] for place in listed],
            self.created_at[chosen],
            self.scores[chosen],
            None if self.sessions is None else [self.sessions[place] for place in listed],
            None if self.sequences is None else [self.sequences[place] for place in listed],
        )

    def with_scores(self, scores: Scores) -> "Candidates":
        """The same with other scores."""
        return Candidates(self.content_hashes, self.created_at, scores, self.sessions, self.sequences)

    def numbered(self) -> tuple[Places, Places]:
        """A number for each, the same for equal ids, and where the first of each number is."""
        digests = Digests.of(self.content_hashes)
        if digests is not None:
            return digests.numbered()
        _, first, numbers = np.unique(np.array(self.content_hashes, object), return_index=True, return_inverse=True)
        return numbers, first

    def best_first(self, places: Places, *, by_age: bool = True) -> Places:
        """These places by falling score; of equals the newer if asked for, then the smaller id."""
        order = places[(-self.scores[places]).argsort()]
        equal = _same_as_before(self.scores[order])
        if not np.logical_or.reduce(equal):
            return order
        tied = equal.copy()
        tied[:-1] |= equal[1:]
        order[tied] = self._untied(order[tied], (~equal).cumsum()[tied], by_age=by_age)
        return order

    def _untied(self, places: Places, runs: Places, *, by_age: bool) -> Places:
        """Places in runs of equal scores, each run sorted; ids are compared only where nothing else tells two apart."""
        if by_age:
            newest = np.lexsort((~self.created_at[places], runs))  # ~ turns the order round as -, and cannot overflow
            places, runs = places[newest], runs[newest]
            twins = _same_as_before(runs) & _same_as_before(self.created_at[places])
            if not np.logical_or.reduce(twins):
                return places
            runs = (~twins).cumsum()
        ids = self.content_hashes
        if isinstance(ids, Digests):  # an import gives the same moment to thousands
            words = ids.take(places).rows.view(">u8")
            return places[np.lexsort((*words.T[::-1], runs))]
        by_id = sorted(zip(runs.tolist(), [ids[place] for place in places], places.tolist(), strict=True))
        return np.array([place for _, _, place in by_id], np.int64)


def _same_as_before(values: Places | Scores) -> NDArray[np.bool_]:
    same = np.zeros(len(values), np.bool_)
    np.equal(values[1:], values[:-1], out=same[1:])
    return same


def _unless_all_none(column: tuple[T | None, ...]) -> tuple[T | None, ...] | None:
    return None if column.count(None) == len(column) else column


def _joined(parts: Sequence[tuple[Sequence[T | None] | None, int]]) -> list[T | None] | None:
    if all([part is None for part, _ in parts]):  # noqa: C419 -- a generator takes longer for three
        return None
    return list(chain.from_iterable(repeat(None, size) if part is None else part for part, size in parts))
