"""What all signals found as one: each memory once, and where in it every signal's list is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import TypeVar

import numpy as np

from ...models import Candidate
from ..graph import SessionPositions
from .arrays import Places
from .candidates import Candidates
from .digests import Digests

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Pool(Mapping[str, Candidates]):
    """The lists by the names of their signals. What does not depend on weights is worked out here, once, however often
    they are fused: again when neighbours join them, a hundred times to explain an answer."""

    lists: Mapping[str, Candidates]
    places: Mapping[str, Places]
    """Where in the pool the candidates of each list are."""
    everyone: Candidates
    """All memories, without scores. Of one that several signals found, what the first says of it counts."""
    earlier: "Pool | None" = None
    """What it was before the last list joined."""

    @classmethod
    def of(cls, signals: Mapping[str, Sequence[Candidate]]) -> "Pool":
        """A pool of these lists; one that is a pool already as it is."""
        if isinstance(signals, cls):
            return signals
        lists = {name: Candidates.of(found) for name, found in signals.items()}
        places = _places(list(lists.values()))
        parts: list[Candidates] = []
        known = 0
        for found, here in zip(lists.values(), places, strict=True):
            parts.append(_newcomers(found, here, known))
            known += len(parts[-1])
        return cls(lists, dict(zip(lists, places, strict=True)), _united(parts))

    def joined_by(self, name: str, found: Sequence[Candidate]) -> "Pool":
        """The same with the list of one more signal."""
        columns = Candidates.of(found)
        _, places = _places([self.everyone, columns])
        everyone = _united([self.everyone, _newcomers(columns, places, len(self.everyone))])
        return Pool({**self.lists, name: columns}, {**self.places, name: places}, everyone, self)

    @cached_property
    def positions(self) -> SessionPositions:
        """Who has a place in a session."""
        if self.earlier is None:
            return SessionPositions.of(self.everyone)
        known = len(self.earlier.everyone)
        return self.earlier.positions.joined_by(self.everyone[known:], known)

    def __getitem__(self, name: str) -> Candidates:
        return self.lists[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)


def _places(lists: Sequence[Candidates]) -> list[Places]:
    """Where in a pool of all of them the candidates of each list are: in the order in which they first come."""
    columns = [each.content_hashes for each in lists]
    digests = Digests.joined(columns)
    first = None if digests is None else digests.first_of_equals()
    if first is None:
        numbers: dict[str, int] = {}
        return [np.array([numbers.setdefault(each, len(numbers)) for each in column], np.int64) for column in columns]
    places = (np.cumsum(first == np.arange(len(first))) - 1)[first]
    ends = np.cumsum([len(each) for each in lists], dtype=np.int64).tolist()
    return [places[end - len(each) : end] for each, end in zip(lists, ends, strict=True)]


def _newcomers(found: Candidates, places: Places, known: int) -> Candidates:
    """Those of a list that are not among the first so many of the pool, each once. Numbers were given in turn: who has
    a greater one than all before is new."""
    if not len(found):
        return found
    greatest = np.maximum.accumulate(places)
    new = places >= known
    new[1:] &= places[1:] > greatest[:-1]
    return found if new.all() else found.take(np.flatnonzero(new))


def _united(parts: Sequence[Candidates]) -> Candidates:
    """One after the other, without scores."""
    columns = [part.content_hashes for part in parts]
    content_hashes = Digests.joined(columns)
    return Candidates(
        list(chain.from_iterable(columns)) if content_hashes is None else content_hashes,
        np.concatenate([np.empty(0, np.int64), *(part.created_at for part in parts)]),
        np.zeros(sum(map(len, parts))),
        _column([(part.sessions, len(part)) for part in parts]),
        _column([(part.sequences, len(part)) for part in parts]),
    )


def _column(parts: Sequence[tuple[Sequence[T | None] | None, int]]) -> list[T | None] | None:
    if all(part is None for part, _ in parts):
        return None
    return list(chain.from_iterable(repeat(None, size) if part is None else part for part, size in parts))
