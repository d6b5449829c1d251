"""Many ids of memories at once, as bytes."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

DIGEST_BYTES = 32
HEX_CHARS = 2 * DIGEST_BYTES

ReadDigests: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.uint8]]
"""From the numbers of memories to their digests."""


class Digests(Sequence[str]):
    """content_hashes in the order of the rows. Of a thousand that are ranked ten are shown: only they are written out.
    Equal to any sequence of the same content_hashes."""

    __slots__ = ("_rows",)

    def __init__(self, rows: NDArray[np.uint8]) -> None:
        self._rows = rows

    @property
    def rows(self) -> NDArray[np.uint8]:
        return self._rows

    @classmethod
    def of(cls, content_hashes: Sequence[str]) -> "Digests | None":
        """None if one of them is no digest, or not written as we write them."""
        if isinstance(content_hashes, cls):
            return content_hashes
        written = "".join(content_hashes)
        if len(written) != HEX_CHARS * len(content_hashes) or set(map(len, content_hashes)) - {HEX_CHARS}:
            return None
        try:
            digests = bytes.fromhex(written)
        except ValueError:
            return None
        return cls(np.frombuffer(digests, np.uint8).reshape(-1, DIGEST_BYTES)) if digests.hex() == written else None

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "Digests": ...
    def __getitem__(self, index: int | slice) -> "str | Digests":
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        return self.take(np.array([index])).rows.tobytes().hex()

    def __iter__(self) -> Iterator[str]:
        written = self.rows.tobytes().hex()
        return iter([written[start : start + HEX_CHARS] for start in range(0, len(written), HEX_CHARS)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as a list

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Without writing all of them out."""
        asked = Digests.of([value]) if isinstance(value, str) else None
        if asked is not None:
            places = np.flatnonzero((self.rows[start:stop] == asked.rows).all(axis=1))
            if len(places):
                return int(places[0]) + range(len(self))[start:].start
        raise ValueError(f"{value!r} is not in it")

    def take(self, places: NDArray[np.int64]) -> "Digests":
        return Digests(self.rows[places])

    def numbered(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A number for each, the same for equals, and where the first of each number is."""
        words = np.ascontiguousarray(self.rows).view(np.uint64)
        order = words[:, 0].argsort(kind="stable")
        is_new, ambiguous = _differing(words[order])
        if ambiguous:  # several digests begin alike: all words tell them apart
            order = np.lexsort(words.T[::-1])
            is_new, _ = _differing(words[order])
        return _numbered(order, is_new)


class NumberedDigests(Digests):
    """Digests of memories that a store has numbers for: they are read where they are looked at."""

    __slots__ = ("numbers", "read")

    def __init__(self, numbers: NDArray[np.int64], read: ReadDigests) -> None:
        self.numbers = numbers
        self.read = read

    @property
    def rows(self) -> NDArray[np.uint8]:
        return self.read(self.numbers)

    def __len__(self) -> int:
        return self.numbers.size

    def take(self, places: NDArray[np.int64]) -> "NumberedDigests":
        return NumberedDigests(self.numbers[places], self.read)

    def numbered(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = self.numbers.argsort(kind="stable")
        in_order = self.numbers[order]
        is_new = np.empty(order.size, np.bool_)
        is_new[:1] = True
        np.not_equal(in_order[1:], in_order[:-1], out=is_new[1:])
        return _numbered(order, is_new)


def joined_digests(parts: Sequence[Sequence[str]]) -> Digests | None:
    """One after the other; None if one of them holds something else."""
    digests = [each for each in map(Digests.of, parts) if each is not None]
    if len(digests) < len(parts):
        return None
    numbered = [each for each in digests if isinstance(each, NumberedDigests)]
    if len(numbered) == len(parts) and not [each for each in numbered if each.read != numbered[0].read]:
        return NumberedDigests(np.concatenate([each.numbers for each in numbered]), numbered[0].read)
    return Digests(np.concatenate([each.rows for each in digests]))


def _numbered(order: NDArray[np.int64], is_new: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """From an order in which equals come together, and which of them are the first of their equals."""
    numbers = np.empty(order.size, np.int64)
    numbers[order] = is_new.cumsum() - 1
    return numbers, order[is_new]


def _differing(words: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], bool]:
    """Which rows are not equal to the one before, and whether any of those begins as that one does."""
    is_new = np.empty(len(words), np.bool_)
    is_new[:1] = True
    differing = words[1:] != words[:-1]
    np.logical_or.reduce(differing, axis=1, out=is_new[1:])
    return is_new, bool(np.logical_or.reduce(is_new[1:] > differing[:, 0]))
