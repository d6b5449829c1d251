"""An index at one moment: never changed, so that a search sees one state of the store from beginning to end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .....models import MemoryFilter
from ..format.columns import Chunks, Documents, NameCodes
from ..format.postings import TAG, Key, Occurrences, length_norms
from ..format.quantization import Quantizer
from ..format.segment_file import Position

Mask = NDArray[np.bool_]

MAX_CACHED_TERMS = 256
MAX_CACHED_POSTINGS = 5_000
"""Longer lists are not kept: after a deletion they are copies, and would take much memory together."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The snapshot, or what has come since."""

    documents: Documents
    chunks: Chunks
    live: Mask | None
    """Which documents are still there; None if all are."""
    one_chunk_each: bool
    """Whether the rows of chunks are those of documents."""
    has_sessions: bool
    """Whether any of the documents has a place in a session."""
    occurrences: Callable[[int], Occurrences]
    """Of a term by its key, also in documents that are gone."""
    places: Callable[[NDArray[np.int64]], NDArray[np.intp]]
    """Where memories are by their ids, as far as they are here, or were."""
    session: Callable[[int], str]
    """From its code to its name."""

    def present(self, found: Occurrences) -> Occurrences:
        """Without the documents that are gone."""
        if self.live is None or not len(found):
            return found
        there = self.live[found.documents]
        return found if there.all() else Occurrences(found.documents[there], found.frequencies[there])


@dataclass(frozen=True)
class IndexReader:
    position: Position
    segments: tuple[Segment, ...]
    quantizer: Quantizer
    dimension: int
    key: Key
    namespaces: NameCodes
    memory_types: NameCodes
    documents: int
    tokens: int
    """Of the documents that are there."""
    per_namespace: Mapping[int, int]
    """How many documents are there, by the code of the namespace."""
    _looked_up: dict[int, list[Occurrences]] = field(default_factory=dict[int, list[Occurrences]])
    """What a search asks for several times."""

    @cached_property
    def norms(self) -> list[NDArray[np.float64]]:
        """Of the lengths of the documents of each segment; for as long as nothing changes."""
        mean_length = self.tokens / self.documents if self.tokens else 1.0
        return [length_norms(segment.documents.lengths, mean_length) for segment in self.segments]

    def count(self, namespace: str) -> int:
        code = self.namespaces.get(namespace)
        return 0 if code is None else self.per_namespace.get(code, 0)

    def having(self, kind: bytes, term: str) -> list[Occurrences]:
        """The documents of each segment that have a term."""
        key = self.key(kind, term)
        known = self._looked_up.get(key)
        if known is None:
            known = [segment.present(segment.occurrences(key)) for segment in self.segments]
            if len(self._looked_up) >= MAX_CACHED_TERMS:
                self._looked_up.clear()
            if sum(map(len, known)) <= MAX_CACHED_POSTINGS:
                self._looked_up[key] = known
        return known

    def masks(self, where: MemoryFilter) -> "list[Mask | None] | None":
        """Which documents of each segment pass a filter: None for a segment of which all do, None at all if no document
        of the store can."""
        namespace = self.namespaces.get(where.namespace)
        types = [code for code in map(self.memory_types.get, where.types) if code is not None]
        if namespace is None or (where.types and not types):
            return None
        only_one_namespace = self.per_namespace.get(namespace, 0) == self.documents
        masks: list[Mask | None] = []
        tagged = self._tagged(where)
        for segment, with_tags in zip(self.segments, tagged, strict=True):
            documents = segment.documents
            conditions = [segment.live, with_tags]
            if not only_one_namespace:
                conditions.append(documents.namespaces == namespace)
            if len(types) == 1:
                conditions.append(documents.memory_types == types[0])
            elif types:
                conditions.append(np.isin(documents.memory_types, types))
            if where.after is not None:
                conditions.append(documents.created_at >= where.after)
            if where.before is not None:
                conditions.append(documents.created_at < where.before)
            masks.append(_all_of([condition for condition in conditions if condition is not None]))
        return masks

    def _tagged(self, where: MemoryFilter) -> "list[Mask | None]":
        """Which documents of each segment have any or all of the tags asked for."""
        if not where.tags:
            return [None for _ in self.segments]
        counts = [np.zeros(len(segment.documents), np.uint16) for segment in self.segments]
        for tag in dict.fromkeys(where.tags):
            for count, found in zip(counts, self.having(TAG, tag_term(where.namespace, tag)), strict=True):
                count[found.documents] += 1
        least = len(where.tags) if where.tag_match == "all" else 1
        return [count >= least for count in counts]


def tag_term(namespace: str, folded: str) -> str:
    """Tags are counted for each namespace by itself; a namespace has no line breaks in it."""
    return f"{namespace}\n{folded}"


def _all_of(conditions: list[Mask]) -> Mask | None:
    if not conditions:
        return None
    combined = conditions[0]
    for condition in conditions[1:]:
        combined = combined & condition
    return combined
