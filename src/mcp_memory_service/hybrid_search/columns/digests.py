"""Many ids of memories at once, as bytes."""

from collections.abc import Iterator, Sequence
from typing import cast, overload

import numpy as np
from numpy.typing import NDArray

DIGEST_BYTES = 32
HEX_CHARS = 2 * DIGEST_BYTES


class Digests(Sequence[str]):
    """content_hashes in the order of the rows. Of a thousand that are ranked ten are shown: only they are written out.
    Equal to any sequence of the same content_hashes."""

    __slots__ = ("rows",)

    def __init__(self, rows: NDArray[np.uint8]) -> None:
        self.rows = rows

    @classmethod
    def joined(cls, columns: Sequence[Sequence[str]]) -> "Digests | None":
        """One after the other; None if one of them cannot be had as bytes."""
        rows = [_rows_of(column) for column in columns if column]
        there = [each for each in rows if each is not None]
        if len(there) < len(rows):
            return None
        return cls(np.concatenate([np.empty((0, DIGEST_BYTES), np.uint8), *there]))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "Digests": ...
    def __getitem__(self, index: int | slice) -> "str | Digests":
        return Digests(self.rows[index]) if isinstance(index, slice) else self.rows[index].tobytes().hex()

    def __iter__(self) -> Iterator[str]:
        written = self.rows.tobytes().hex()
        return (written[start : start + HEX_CHARS] for start in range(0, len(written), HEX_CHARS))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as a list

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Without writing all of them out."""
        asked = _rows_of([value]) if isinstance(value, str) else None
        if asked is None:
            raise ValueError(f"{value!r} is not in it")
        words = np.ascontiguousarray(self.rows[start:stop]).view(np.uint64)
        places = np.flatnonzero(words[:, 0] == asked.view(np.uint64)[0, 0])
        places = places[(words[places] == asked.view(np.uint64)).all(axis=1)]
        if not len(places):
            raise ValueError(f"{value!r} is not in it")
        return int(places[0]) + range(len(self))[start:].start

    def take(self, places: NDArray[np.int64]) -> "Digests":
        return Digests(self.rows[places])

    def first_of_equals(self) -> NDArray[np.int64] | None:
        """For each digest where the first one equal to it is; None if it cannot be told by their first bytes."""
        words = np.ascontiguousarray(self.rows).view(np.uint64)
        beginnings = words[:, 0].copy()
        order = np.argsort(beginnings)
        in_order = beginnings[order]
        equal = np.flatnonzero(in_order[1:] == in_order[:-1])
        first = np.arange(len(order))
        if not len(equal):
            return first
        one, other = order[equal], order[equal + 1]
        if (words[one] != words[other]).any():
            return None
        runs = np.flatnonzero(np.diff(equal, prepend=-2) > 1)  # of pairs that share a digest
        least = np.minimum.reduceat(np.minimum(one, other), runs)
        lengths = np.diff(runs, append=len(equal))
        first[one] = first[other] = np.repeat(least, lengths)
        return first


def _rows_of(column: Sequence[str]) -> NDArray[np.uint8] | None:
    if isinstance(column, Digests):
        return column.rows
    if any(len(each) != HEX_CHARS for each in column):
        return None
    written = "".join(column)
    try:
        digests = bytes.fromhex(written)
    except ValueError:
        return None
    return np.frombuffer(digests, np.uint8).reshape(-1, DIGEST_BYTES) if digests.hex() == written else None
