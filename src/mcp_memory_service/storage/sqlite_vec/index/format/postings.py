"""Which documents have a term and how often, as arrays, and BM25 over them as FTS5 computes it."""

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

# As in FTS5.
K1 = 1.2
B = 0.75
MIN_IDF = 1e-6

WORD, NAME, TAG = b"w", b"n", b"t"
"""Kinds of terms. Words are those of labels and text together, as queries ask for them."""

_FREQUENCY_BITS = 24

Key = Callable[[bytes, str], int]
"""From the kind of a term and the term to the number it is kept under."""


def term_keys(salt: bytes) -> Key:
    """Terms are kept as digests: they take eight bytes, and the file of an index has no words to read. Whoever makes
    one takes another salt if two terms meet."""

    def key(kind: bytes, term: str) -> int:
        return int.from_bytes(blake2b(kind + term.encode(), digest_size=8, key=salt).digest(), "little")

    return key


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The documents that have a term, in order, and how often each has it; as they are kept."""

    documents: NDArray[np.integer[Any]]
    frequencies: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return self.documents.size


NOWHERE = Occurrences(np.empty(0, np.uint32), np.empty(0, np.uint8))


@dataclass(frozen=True, slots=True)
class FixedPostings:
    """Of a snapshot: sorted keys, each with a stretch of the two long columns."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    documents: NDArray[np.uint32]
    frequencies: NDArray[np.unsignedinteger]

    def of(self, key: int) -> Occurrences:
        place = int(np.searchsorted(self.keys, np.uint64(key)))
        if place == self.keys.size or int(self.keys[place]) != key:
            return NOWHERE
        stretch = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return Occurrences(self.documents[stretch], self.frequencies[stretch])


@dataclass(frozen=True, slots=True)
class GrowingPostings:
    """Of the delta. Added to by one thread while others read: each occurrence is one number, added in one step."""

    _by_key: dict[int, "array[int]"] = field(default_factory=dict[int, "array[int]"])

    def add(self, key: int, document: int, frequency: int) -> None:
        self._by_key.setdefault(key, array("Q")).append(document << _FREQUENCY_BITS | frequency)

    def of(self, key: int, documents: int) -> Occurrences:
        """Among the first so many documents."""
        packed = self._by_key.get(key)
        if packed is None:
            return NOWHERE
        numbers = np.frombuffer(bytes(packed), np.uint64)
        found = (numbers >> _FREQUENCY_BITS).astype(np.intp)
        seen = int(np.searchsorted(found, documents))
        return Occurrences(found[:seen], (numbers[:seen] & (2**_FREQUENCY_BITS - 1)).astype(np.uint32))


def rarity(documents: int, having: int) -> float:
    """The inverse document frequency that FTS5 takes."""
    idf = math.log((documents - having + 0.5) / (having + 0.5))
    return idf if idf > 0.0 else MIN_IDF


def length_norms(lengths: NDArray[np.uint32], mean_length: float) -> NDArray[np.float64]:
    """How much the length of each document weakens its terms. Here and in `bm25` the operations and their order are
    those of FTS5, so that scores are equal to the last bit."""
    return K1 * ((1 - B) + B * lengths.astype(np.float64) / mean_length)


def most_of_bm25(idf: float) -> float:
    """What no term adds more than, however often it comes."""
    return idf * (K1 + 1.0)


def bm25(
    frequencies: NDArray[np.float64], norms: NDArray[np.float64], idf: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """What a term adds to the score of each document."""
    return idf * ((frequencies * (K1 + 1.0)) / (frequencies + norms))
