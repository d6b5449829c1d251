"""The values that travel inside the service: frozen, compared by value, free of I/O."""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import repeat
from typing import Literal, NamedTuple, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from .digests import Digests

T = TypeVar("T")

Vector: TypeAlias = NDArray[np.float32]
JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
Metadata: TypeAlias = Mapping[str, JsonValue]
Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is to do."""
TagMatch: TypeAlias = Literal["any", "all"]
SearchMode: TypeAlias = Literal["hybrid", "semantic", "keyword"]

DEFAULT_NAMESPACE = "default"

MAX_TAGS = 100
MAX_METADATA_CHARS = 65_536


def json_chars(value: JsonValue) -> int:
    """How long a value is as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def content_hash(content: str) -> str:
    """The public id of a memory: SHA-256 of its NFC-normalised, stripped text."""
    return hashlib.sha256(unicodedata.normalize("NFC", content).strip().encode()).hexdigest()


def fold_tag(tag: str) -> str:
    """The form in which two tags are compared; the form in which one is shown is kept beside it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", tag).strip().casefold())


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """What a caller asks to remember."""

    content: str
    tags: tuple[str, ...] = ()
    memory_type: str | None = None
    metadata: Metadata = field(default_factory=dict[str, JsonValue])
    created_at: int | None = None
    source: str | None = None
    session: str | None = None
    sequence: int | None = None
    updated_at: int | None = None
    """Given only for what was a memory before, and comes from an export."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What came of a purge."""

    not_found: tuple[str, ...]
    """Those that were not there, or not any more."""
    erased: bool
    """Whether their bytes are gone from the store's files; if not, something else still has to let go of them."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored memory; times are microseconds UTC."""

    content: str
    content_hash: str
    created_at: int
    updated_at: int
    tags: tuple[str, ...] = ()
    memory_type: str | None = None
    metadata: Metadata = field(default_factory=dict[str, JsonValue])
    namespace: str = DEFAULT_NAMESPACE
    source: str | None = None
    session: str | None = None
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class EmbeddedMemory:
    """A memory with the vectors of its text, one for each window of a long text."""

    memory: Memory
    vectors: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class MemoryScan:
    """A part of a whole store, in an order of the store's own."""

    items: tuple[EmbeddedMemory, ...]
    cursor: str | None
    """Where the next part begins; None after the last."""


@dataclass(frozen=True, slots=True)
class StoreOutcome:
    """What became of a memory that was sent to be stored."""

    memory: Memory
    created: bool
    """False when the same content was there already and only tags and metadata were united."""

    @property
    def summary(self) -> str:
        verb = "Stored" if self.created else "Already known, tags and metadata united"
        return f"{verb}: {self.memory.content_hash}"


class Keep(Enum):
    """Says that a field of a patch is left as it is, where None means something else."""

    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class MemoryPatch:
    """What to change of a memory; its content is its identity and cannot change."""

    tags: tuple[str, ...] | None = None
    """The new tags in place of the old ones; None leaves them."""
    memory_type: str | Literal[Keep.KEEP] | None = Keep.KEEP
    metadata: Metadata | None = None
    """A JSON merge patch (RFC 7396): given keys are set, keys given as null are removed."""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Tells a request that is sent again from a new one. Stores keep digests only: a key or a patch may be private."""

    key: str
    """SHA-256 of the key that the caller made up."""
    fingerprint: str
    """SHA-256 of what is asked for; with the same key it must be the same."""
    received_at: int


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories may be considered at all; every field is applied inside the engine's query."""

    namespace: str = DEFAULT_NAMESPACE
    tags: tuple[str, ...] = ()
    """Folded; empty means any."""
    tag_match: TagMatch = "any"
    memory_type: str | None = None
    after: int | None = None
    """Created at or after this moment."""
    before: int | None = None
    """Created before this moment."""


class Candidate(NamedTuple):
    """What a signal finds: enough of a memory to rank it, not to show it. Thousands are made in a search: a tuple."""

    content_hash: str
    created_at: int
    raw_score: float
    """The signal's own measure: cosine similarity for vectors, BM25 for words, summed rarity for tags."""
    session: str | None = None
    sequence: int | None = None
    """Its place in a session, by which it has neighbours."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """What a signal finds, as columns: a window of a thousand is ranked by a few array operations, and a `Candidate` is
    made only where one is looked at. Equal to any sequence of the same candidates."""

    content_hashes: Sequence[str]
    created_at: NDArray[np.int64]
    raw_scores: NDArray[np.float64]
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
        hashes, created_at, raw_scores, sessions, sequences = zip(*items, strict=True)
        return cls(
            hashes,
            np.array(created_at, np.int64),
            np.array(raw_scores, np.float64),
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
                self.raw_scores[index],
                None if self.sessions is None else self.sessions[index],
                None if self.sequences is None else self.sequences[index],
            )
        return Candidate(
            self.content_hashes[index],
            int(self.created_at[index]),
            float(self.raw_scores[index]),
            None if self.sessions is None else self.sessions[index],
            None if self.sequences is None else self.sequences[index],
        )

    def __iter__(self) -> Iterator[Candidate]:
        sessions = repeat(None) if self.sessions is None else self.sessions
        sequences = repeat(None) if self.sequences is None else self.sequences
        columns = (self.content_hashes, self.created_at.tolist(), self.raw_scores.tolist(), sessions, sequences)
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
            self.raw_scores[chosen],
            None if self.sessions is None else [self.sessions[place] for place in listed],
            None if self.sequences is None else [self.sequences[place] for place in listed],
        )


def _unless_all_none(column: tuple[T | None, ...]) -> tuple[T | None, ...] | None:
    return None if column.count(None) == len(column) else column


@dataclass(frozen=True, slots=True)
class VectorSample:
    """Vectors of some memories, drawn without regard to what they say."""

    memories: int
    vectors: NDArray[np.float32]
    """One row for each window of the drawn memories."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """What a full-text index holds of a memory, each as words divided by spaces."""

    labels: str
    """Words of headings and tags."""
    words: str
    """Stemmed words in order; runs of unspaced scripts as overlapping pairs of characters."""
    names: str
    """Compound names as they are written but for case; single characters of unspaced scripts."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A query as alternatives: what matches any of them is found, and ranked by how many and how rare."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...] = ()
    """Quoted parts, each a sequence of words that must stand together."""

    def __bool__(self) -> bool:
        return bool(self.words or self.names or self.phrases)

    @property
    def all_words(self) -> list[str]:
        """Those of phrases as well, each once."""
        return list(dict.fromkeys([*self.words, *(word for phrase in self.phrases for word in phrase)]))


@dataclass(frozen=True, slots=True)
class TextMatches:
    """What a keyword search finds."""

    candidates: Sequence[Candidate] = ()
    """Best first."""
    best_has: frozenset[str] = frozenset()
    """Which of all words of the query the best of them has."""


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag as it is shown and how many memories carry it."""

    tag: str
    memories: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of a listing, newest first."""

    memories: tuple[Memory, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a user or agent said of one result of a query."""

    query: str
    content_hash: str
    useful: bool
    created_at: int


@dataclass(frozen=True, slots=True)
class TunedWeights:
    """The weights that are fitted to a corpus; a setting of the same name wins over each."""

    vector_trust: float
    tag_weight: float
    neighbour_weight: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """Weights that won on held-out queries of a corpus, as they are kept in its store."""

    weights: TunedWeights
    created_at: int
    queries: int
    """How many held-out queries they were judged by."""
    before: float
    after: float
    """NDCG@10 on those queries with the weights that were in force, and with these."""
    version: int = 0
    """Given by the store, counting up; never used twice."""


@dataclass(frozen=True, slots=True)
class StoreStats:
    """How much a store holds, and with what it was made."""

    backend: str
    memories: int
    tags: int
    vectors: int
    size_bytes: int
    """Of the database file; where a server keeps the store, of the vectors of the namespace."""
    schema_version: int
    embedding_model: str
    embedding_dimension: int | None
    memories_by_type: Mapping[str, int]
    oldest: int | None
    newest: int | None
