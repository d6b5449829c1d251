"""A segment of an index: its documents, their chunks and the postings of their terms, as arrays."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .....models import MemoryKind

WORD, NAME, TAG = b"w", b"n", b"t"
"""Kinds of terms. Words are those of labels and text together, as queries ask for them."""

NONE = -1
"""The code of a name that is not there."""
KIND_CODES: Mapping[MemoryKind, int] = {"memory": 0, "note": 1, "code": 2, "decision": 3, "error": 4}
"""As they are in the files of indexes."""
NO_SEQUENCE = np.iinfo(np.int64).min
NEVER = np.iinfo(np.int64).max
"""When a memory expires that does not."""

_FREQUENCY_BITS = 24

Mask = NDArray[np.bool_]
Key = Callable[[bytes, str], int]
"""From the kind of a term and the term to the number it is kept under."""


def term_keys(salt: bytes) -> Key:
    """Terms are kept as digests: they take eight bytes, and the file of an index has no words to read. The builder
    takes another salt if two terms meet."""

    def key(kind: bytes, term: str) -> int:
        return int.from_bytes(blake2b(kind + term.encode(), digest_size=8, key=salt).digest(), "little")

    return key


def tag_term(namespace: str, folded: str) -> str:
    """Tags are counted for each namespace by itself; a namespace has no line breaks in it."""
    return f"{namespace}\n{folded}"


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents that have a term, in order, and its frequency in each."""

    documents: NDArray[np.integer[Any]]
    frequencies: NDArray[np.integer[Any]]

    def only(self, mask: Mask) -> "Postings":
        """Those of the documents that the mask has."""
        return self._passing(mask[self.documents])

    def within(self, namespaces: NDArray[np.int32], code: int) -> "Postings":
        """Those of the documents of one namespace."""
        return self._passing(namespaces[self.documents] == code)

    def _passing(self, passing: Mask) -> "Postings":
        return self if np.logical_and.reduce(passing) else Postings(self.documents[passing], self.frequencies[passing])


NO_POSTINGS = Postings(np.empty(0, np.uint32), np.empty(0, np.uint8))


@dataclass(frozen=True, slots=True)
class FixedPostings:
    """Of a segment file: sorted keys, each with a slice of the two long columns."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    documents: NDArray[np.uint32]
    frequencies: NDArray[np.unsignedinteger]

    def of(self, keys: Sequence[int]) -> list[Postings]:
        """Of each of these terms."""
        wanted = np.array(keys, np.uint64)
        places = self.keys.searchsorted(wanted)
        there = places < self.keys.size
        there[there] = self.keys[places[there]] == wanted[there]
        found = [NO_POSTINGS] * len(keys)
        for number in there.nonzero()[0].tolist():
            start, end = self.starts[places[number] : places[number] + 2].tolist()
            found[number] = Postings(self.documents[start:end], self.frequencies[start:end])
        return found


@dataclass(frozen=True, slots=True)
class GrowingPostings:
    """Of the delta segment. One thread adds while others read: each posting is one number, added in one step."""

    _by_key: dict[int, "array[int]"] = field(default_factory=dict[int, "array[int]"])

    def add(self, key: int, document: int, frequency: int) -> None:
        self._by_key.setdefault(key, array("Q")).append(document << _FREQUENCY_BITS | frequency)

    def of(self, size: int, keys: Sequence[int]) -> list[Postings]:
        """Of each of these terms, among the first `size` documents."""
        found = [NO_POSTINGS] * len(keys)
        for number, packed in enumerate(map(self._by_key.get, keys)):
            if packed is not None:
                numbers = np.frombuffer(bytes(packed), np.uint64)
                documents = (numbers >> _FREQUENCY_BITS).astype(np.intp)
                end = int(documents.searchsorted(size))
                frequencies = (numbers[:end] & (2**_FREQUENCY_BITS - 1)).astype(np.uint32)
                found[number] = Postings(documents[:end], frequencies)
        return found


@dataclass(frozen=True)
class Documents:
    """One row for each memory."""

    memory_ids: NDArray[np.int64]
    hashes: NDArray[np.uint8]
    """The bytes of content_hash."""
    created_at: NDArray[np.int64]
    namespaces: NDArray[np.int32]
    memory_types: NDArray[np.int32]
    kinds: NDArray[np.int8]
    sessions: NDArray[np.int32]
    sequences: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    """In tokens, of all that the text index has of it."""


@dataclass(frozen=True)
class Chunks:
    """One row for each vector."""

    documents: NDArray[np.int32]
    """The rows of their memories."""
    stored: NDArray[np.int8 | np.float32]
    scales: NDArray[np.float32]
    """What `Quantizer.stored` gives."""
    codes: NDArray[np.uint64]
    """One column for each vector, not a row."""


@dataclass(frozen=True, slots=True)
class Segment:
    size: int
    """How many documents it has, also those that are gone."""
    documents: Documents
    chunks: Chunks
    postings: Callable[[Sequence[int]], list[Postings]]
    """Of terms by their keys, also in documents that are gone."""
    places: Callable[[NDArray[np.int64]], NDArray[np.intp]]
    """The rows of memories by their ids, also of those that are gone."""
    session: Callable[[int], str]
    """From its code to its name."""
    one_chunk_each: bool
    """Whether the rows of chunks are those of documents."""
    embedded: Mask | None
    """Which documents have chunks; None if all do. Others wait for their vectors."""
    has_sessions: bool
    """Whether any of the documents has a place in a session."""
    first_expiry: int
    """When the first of the documents expires."""
    first: int = 0
    """The number of its first document among those of all segments."""
    live: Mask | None = None
    """Which documents are still there; None if all are."""

    @classmethod
    def of(
        cls,
        documents: Documents,
        chunks: Chunks,
        postings: Callable[[Sequence[int]], list[Postings]],
        places: Callable[[NDArray[np.int64]], NDArray[np.intp]],
        session: Callable[[int], str],
    ) -> "Segment":
        size = documents.memory_ids.size
        one_each = chunks.documents.size == size and bool((chunks.documents == np.arange(size)).all())
        embedded = np.zeros(size, np.bool_)
        embedded[chunks.documents] = True
        sessions = bool((documents.sessions != NONE).any() or (documents.sequences != NO_SEQUENCE).any())
        first_expiry = int(documents.expires_at.min(initial=NEVER))
        having_all = None if embedded.all() else embedded
        return cls(size, documents, chunks, postings, places, session, one_each, having_all, sessions, first_expiry)
