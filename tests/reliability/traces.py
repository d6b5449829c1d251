"""Looks for what must be gone in every byte of the files of a store."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WORD_BYTES = 8


@dataclass
class Wanted:
    """What is looked for."""

    texts: set[bytes] = field(default_factory=set[bytes])
    vectors: list[bytes] = field(default_factory=list[bytes])


def traces_in(files: Iterable[Path], wanted: Wanted) -> Iterator[str]:
    """Where something of it is, in words; a text counts in whole, a vector when 32 bytes of it are there in a row."""
    pieces = _pieces(wanted.vectors)
    for file in files:
        data = file.read_bytes()
        yield from (f"{file.name}: {text.decode(errors='replace')}" for text in wanted.texts if text in data)
        yield from (f"{file.name}: a vector at {position}" for position in _vector_positions(data, pieces))


def files_of(path: Path) -> list[Path]:
    """The store's file and everything beside it that begins with its name."""
    return sorted(file for file in path.parent.iterdir() if file.name.startswith(path.name))


def _pieces(vectors: list[bytes]) -> NDArray[np.uint64]:
    return np.unique(np.frombuffer(b"".join(vectors), dtype=np.uint64))


def _vector_positions(data: bytes, pieces: NDArray[np.uint64]) -> Iterator[int]:
    """Any 32 bytes of a vector hold three of its words of 8 bytes in a row, wherever they begin; chance does not."""
    for shift in range(WORD_BYTES):
        count = (len(data) - shift) // WORD_BYTES
        if count < 3:
            continue
        words = np.frombuffer(data, dtype=np.uint64, count=count, offset=shift)
        nearest = np.minimum(np.searchsorted(pieces, words), pieces.size - 1)
        there = pieces[nearest] == words
        in_a_row = there[:-2] & there[1:-1] & there[2:]
        yield from (shift + WORD_BYTES * int(index) for index in np.flatnonzero(in_a_row)[:1])
