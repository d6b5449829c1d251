"""What is searched for, and what the signals find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..timestamps import When
from .memory import DEFAULT_NAMESPACE, JsonValue, Memory, MemoryKind

TagMatch: TypeAlias = Literal["any", "all"]
SearchMode: TypeAlias = Literal["hybrid", "semantic", "keyword"]
Confidence: TypeAlias = Literal["high", "low", "none"]
"""How sure a search is that what it found answers the query."""


@dataclass(frozen=True, slots=True, eq=False)
class MetadataIs:
    """What a key at the top level of the metadata must be."""

    key: str
    value: str | int | float | bool | None = None
    """Equal as JSON: 1 is not true, and 1 is 1.0. None asks only whether the key is there, whatever its value."""

    # To Python 1 is true: what is kept for a filter would be given to another one.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetadataIs) and self._as_json == other._as_json

    def __hash__(self) -> int:
        return hash(self._as_json)

    @property
    def _as_json(self) -> tuple[object, ...]:
        return self.key, self.value, isinstance(self.value, bool)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search as every door asks for it; the service checks it."""

    query: str
    page: int = 1
    page_size: int = 10
    tags: tuple[str, ...] | None = None
    """Only memories with these, which then also rank them. None finds the tags that the query names; empty ignores
    tags."""
    memory_type: str | None = None
    min_similarity: float | None = None
    """Drops vector hits only."""
    tag_match: TagMatch = "any"
    after: When | None = None
    before: When | None = None
    mode: SearchMode = "hybrid"
    """`semantic` and `keyword` ask one signal alone."""
    alpha: float | None = None
    fts_weight: float | None = None
    vector_weight: float | None = None
    """The two weights are another way to give alpha: the share of the vector weight."""
    debug: bool = False
    types: tuple[str, ...] = ()
    """Any of these, beside `memory_type`."""
    session: str | None = None
    source: str | None = None
    metadata: tuple[MetadataIs, ...] = ()
    """All of these."""
    include_superseded: bool = False
    as_of: When | None = None
    """Answers as it would have at that moment, with what was superseded since."""
    min_confidence: Confidence | None = None
    """Nothing at all, if the search is less sure than this."""
    full: bool = False
    """Long contents whole, not as passages."""
    rerank: bool | None = None
    """Whether a cross-encoder puts the first results in a new order; None leaves it to the setting."""
    kinds: tuple[MemoryKind, ...] = ()
    """Any of these; empty means any."""
    scope: str | None = None
    """Only what came from this path or from below it."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A listing as every door asks for it; the service checks it."""

    page: int = 1
    page_size: int = 10
    tags: tuple[str, ...] = ()
    memory_type: str | None = None
    tag_match: TagMatch = "any"
    after: When | None = None
    before: When | None = None
    types: tuple[str, ...] = ()
    session: str | None = None
    source: str | None = None
    metadata: tuple[MetadataIs, ...] = ()
    include_superseded: bool = False
    pinned: bool | None = None
    """Only those that are pinned, or that are not."""
    expired: bool = False
    """Only those that have expired, in place of all others."""
    kinds: tuple[MemoryKind, ...] = ()
    """Any of these; empty means any that does not come from files."""
    scope: str | None = None
    """Only what came from this path or from below it."""


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories may be considered at all; every field is applied inside the engine's query."""

    namespace: str = DEFAULT_NAMESPACE
    tags: tuple[str, ...] = ()
    """Folded; empty means any."""
    tag_match: TagMatch = "any"
    types: tuple[str, ...] = ()
    """Any of these memory_types; empty means any, also none."""
    after: int | None = None
    """Created at or after this moment."""
    before: int | None = None
    """Created before this moment."""
    scope: str | None = None
    """Only what came from this path or from below it, as `in_scope` says."""
    kinds: tuple[MemoryKind, ...] = ()
    """Any of these; empty means any."""
    session: str | None = None
    source: str | None = None
    """Exactly this one; `scope` has what is below a path."""
    metadata: tuple[MetadataIs, ...] = ()
    """All of these."""
    pinned: bool | None = None
    alive_at: int | None = None
    """Leaves out what had expired by then."""
    expired_by: int | None = None
    """Only what had expired by then."""
    as_of: int | None = None
    """Only what was there at that moment: stored and written by then, and neither superseded nor expired."""
    ended_before: int | None = None
    """Only what was superseded or deleted before that moment."""

    @property
    def corpus(self) -> "MemoryFilter":
        """Of what statistics are taken: all that the filter leaves, whether it is there at that moment or not. Every
        search asks who is alive now, and a memory that expires meanwhile shall move no score."""
        return replace(self, alive_at=None, as_of=None)

    @property
    def has_whole_namespace(self) -> bool:
        """Whether its corpus is the namespace; asked several times by every search."""
        return (
            self.tags, self.types, self.after, self.before, self.scope, self.kinds, self.session, self.source,
            self.metadata, self.pinned, self.expired_by, self.ended_before,
        ) == _FILTERS_NOTHING  # fmt: skip


_FILTERS_NOTHING = ((), (), None, None, None, (), None, None, (), None, None, None)


def in_scope(source: str | None, scope: str) -> bool:
    """By whole segments: `docs` has `docs` and `docs/a.md` in it, not `docs2/a.md`. A slash at the end of a scope says
    nothing, and letters are compared as they are."""
    return source is not None and scope_root(scope) in scope_roots(source)


def scope_root(scope: str) -> str:
    """A scope as it is compared."""
    return scope.rstrip("/")


def scope_roots(source: str) -> list[str]:
    """Of all scopes that a source is in, shortest first."""
    return [source[:place] for place, letter in enumerate(source) if letter == "/"] + [source]


def metadata_is(metadata: Mapping[str, JsonValue], asked: MetadataIs) -> bool:
    """Equal as JSON, where 1 is 1.0 but not true."""
    if asked.key not in metadata or asked.value is None:
        return asked.key in metadata
    found, wanted = metadata[asked.key], asked.value
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


def is_alive(memory: Memory, where: MemoryFilter) -> bool:
    """Whether it passes what a filter says of the life of a memory."""
    ends = [end for end in (memory.ended_at, memory.expires_at) if end is not None]
    return (
        (where.alive_at is None or memory.expires_at is None or memory.expires_at > where.alive_at)
        and (where.expired_by is None or (memory.expires_at is not None and memory.expires_at <= where.expired_by))
        and (where.ended_before is None or (memory.ended_at is not None and memory.ended_at < where.ended_before))
        and (
            where.as_of is None
            or (
                max(memory.created_at, memory.edited_at or memory.created_at)
                <= where.as_of
                < min(ends, default=where.as_of + 1)
            )
        )
    )


class Candidate(NamedTuple):
    """What a signal finds: enough of a memory to rank it, not to show it. Thousands are made in a search: a tuple."""

    content_hash: str
    created_at: int
    score: float
    """The signal's own measure: cosine similarity for vectors, BM25 for words, summed idf for tags."""
    session: str | None = None
    sequence: int | None = None
    """Its place in a session, by which it has neighbours."""


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """How many memories there are to choose from, and how many of them have what is asked for."""

    memories: int
    having_word: Mapping[str, int]
    """Of each word: those that have it in their text, or as a name."""
    having_tag: Mapping[str, int]
    """Of each tag, folded."""


@dataclass(frozen=True, slots=True)
class VectorSample:
    """Vectors of some memories, drawn without regard to what they say."""

    memories: int
    vectors: NDArray[np.float32]
    """One row for each chunk of the drawn memories."""
    drawn_from: int
    """So many memories the corpus has."""
    awaiting_vectors: int = 0
    """So many of them have no vectors yet, and could not be drawn."""


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
    word_weights: tuple[float, ...] | None = None
    """How much each word counts; None if each counts once."""

    def __bool__(self) -> bool:
        return bool(self.words or self.names or self.phrases)

    @property
    def weights(self) -> list[float]:
        """How much each alternative counts: words, phrases and names, in the order in which scores are summed."""
        return [*(self.word_weights or [1.0] * len(self.words)), *[1.0] * (len(self.phrases) + len(self.names))]

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
