"""What all signals found as one: each memory once, and where in it every signal's list is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import TypeVar

import numpy as np

from ..models import Candidate, Candidates
from .neighbours import Places, Seats

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
    place_of: Mapping[str, int]
    earlier: "Pool | None" = None
    """What it was before the last list joined."""

    @classmethod
    def of(cls, signals: Mapping[str, Sequence[Candidate]]) -> "Pool":
        """A pool of these lists; one that is a pool already as it is."""
        if isinstance(signals, cls):
            return signals
        lists = {name: Candidates.of(found) for name, found in signals.items()}
        places: dict[str, Places] = {}
        place_of: dict[str, int] = {}
        parts: list[Candidates] = []
        for name, found in lists.items():
            parts.append(_added(found, name, places, place_of))
        return cls(lists, places, _united(parts), place_of)

    def joined_by(self, name: str, found: Sequence[Candidate]) -> "Pool":
        """The same with the list of one more signal."""
        columns, places, place_of = Candidates.of(found), dict(self.places), dict(self.place_of)
        newcomers = _added(columns, name, places, place_of)
        return Pool({**self.lists, name: columns}, places, _united([self.everyone, newcomers]), place_of, self)

    @cached_property
    def seats(self) -> Seats:
        """Who has a place in a session."""
        if self.earlier is None:
            return Seats.of(self.everyone)
        known = len(self.earlier.everyone)
        return self.earlier.seats.joined_by(self.everyone[known:], known)

    def __getitem__(self, name: str) -> Candidates:
        return self.lists[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)


def _added(found: Candidates, name: str, places: dict[str, Places], place_of: dict[str, int]) -> Candidates:
    """Give a list its places; returns those of it that had none before."""
    known = len(place_of)
    here = places[name] = _places(found.content_hashes, place_of)
    added = len(place_of) - known
    if added == len(found):
        return found
    new = np.flatnonzero(here >= known)
    if len(new) > added:  # one is listed twice
        new = new[np.unique(here[new], return_index=True)[1]]
    return found.take(new)


def _places(content_hashes: Sequence[str], place_of: dict[str, int]) -> Places:
    if not place_of:
        place_of.update(zip(content_hashes, range(len(content_hashes)), strict=True))
        if len(place_of) == len(content_hashes):
            return np.arange(len(content_hashes))
        place_of.clear()  # one is listed twice
    return np.array([place_of.setdefault(each, len(place_of)) for each in content_hashes], np.int64)


def _united(parts: Sequence[Candidates]) -> Candidates:
    """One after the other, without scores."""
    content_hashes = list(chain.from_iterable(part.content_hashes for part in parts))
    return Candidates(
        content_hashes,
        np.concatenate([np.empty(0, np.int64), *(part.created_at for part in parts)]),
        np.zeros(len(content_hashes)),
        _column([(part.sessions, len(part)) for part in parts]),
        _column([(part.sequences, len(part)) for part in parts]),
    )


def _column(parts: Sequence[tuple[Sequence[T | None] | None, int]]) -> list[T | None] | None:
    if all(part is None for part, _ in parts):
        return None
    return list(chain.from_iterable(repeat(None, size) if part is None else part for part, size in parts))
