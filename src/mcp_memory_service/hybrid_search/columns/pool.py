"""What all signals found as one: each memory once, and where in it every signal's list is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from ...models import Candidate
from ..sessions import SessionPositions
from .candidates import Candidates, Places


@dataclass(frozen=True, eq=False)
class Pool(Mapping[str, Candidates]):
    """The lists by the names of their signals. What does not depend on weights is worked out here, once, however often
    they are fused: again when neighbours join them, a hundred times to explain an answer."""

    lists: Mapping[str, Candidates]
    places: Mapping[str, Places]
    """Where in the pool the candidates of each list are."""
    everyone: Candidates
    """All memories; their scores mean nothing. Of one that several signals found, what the first says of it counts."""

    @classmethod
    def of(cls, signals: Mapping[str, Sequence[Candidate]]) -> "Pool":
        """A pool of these lists; one that is a pool already as it is."""
        if isinstance(signals, cls):
            return signals
        lists = {name: Candidates.of(found) for name, found in signals.items()}
        found = Candidates.joined(list(lists.values()))
        numbers, first = found.numbered()
        ends = accumulate(each.scores.size for each in lists.values())
        places = {
            name: numbers[end - each.scores.size : end] for (name, each), end in zip(lists.items(), ends, strict=True)
        }
        return cls(lists, places, found.take(first))

    def joined_by(self, name: str, found: Sequence[Candidate]) -> "Pool":
        """The same with the list of one more signal."""
        return Pool.of({**self.lists, name: found})

    @cached_property
    def positions(self) -> SessionPositions:
        """Who has a place in a session."""
        return SessionPositions.of(self.everyone)

    def __getitem__(self, name: str) -> Candidates:
        return self.lists[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lists)

    def __len__(self) -> int:
        return len(self.lists)
