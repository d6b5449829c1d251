"""What an in-memory store holds. Handles share it as processes share a file."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import IdempotencyKeyReused
from ...models import (
    Candidate,
    Edge,
    Feedback,
    IdempotencyKey,
    Memory,
    MemoryFilter,
    SourceRecord,
    StoreStats,
    TagCount,
    Tuning,
    Vector,
    VectorSample,
    fold_tag,
    in_scope,
    is_alive,
    metadata_is,
)
from ..ports import KEYS_KEPT_MICROSECONDS, TextAnalyzer
from .text import Words

Direction: TypeAlias = NDArray[np.float64]
"""A vector of length 1: the product of two is their cosine."""
MemoryKey: TypeAlias = tuple[str, str]
"""Namespace and content_hash."""
EdgeKey: TypeAlias = tuple[str, str, bool, str]


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory with what is derived from it."""

    number: int
    """Counts up in the order in which memories are stored."""
    memory: Memory
    vectors: tuple[Vector, ...]
    directions: tuple[Direction, ...]
    """Of the vectors."""
    tags: frozenset[str]
    """Folded."""
    words: Words

    @classmethod
    def of(cls, number: int, memory: Memory, vectors: tuple[Vector, ...], analyze: TextAnalyzer) -> "StoredMemory":
        tags = frozenset(map(fold_tag, memory.tags))
        words = Words.of(analyze(memory.content, memory.labels))
        return cls(number, memory, vectors, tuple(map(direction_of, vectors)), tags, words)

    def passes(self, where: MemoryFilter) -> bool:
        memory, asked = self.memory, set(where.tags)
        return (
            memory.namespace == where.namespace
            and (not asked or (asked <= self.tags if where.tag_match == "all" else not asked.isdisjoint(self.tags)))
            and (not where.types or memory.memory_type in where.types)
            and (not where.kinds or memory.kind in where.kinds)
            and (where.scope is None or in_scope(memory.source, where.scope))
            and (where.after is None or memory.created_at >= where.after)
            and (where.before is None or memory.created_at < where.before)
            and where.session in {None, memory.session}
            and where.source in {None, memory.source}
            and where.pinned in {None, memory.pinned}
            and all(metadata_is(memory.metadata, each) for each in where.metadata)
            and is_alive(memory, where)
        )

    def similarity(self, query: Direction) -> float:
        """The cosine of the nearest chunk."""
        return max(float(query @ direction) for direction in self.directions)

    def with_vectors(self, vectors: tuple[Vector, ...]) -> "StoredMemory":
        """Itself, if it has some already."""
        if self.vectors:
            return self
        return replace(self, vectors=vectors, directions=tuple(map(direction_of, vectors)))

    def candidate(self, score: float) -> Candidate:
        memory = self.memory
        return Candidate(memory.content_hash, memory.created_at, score, memory.session, memory.sequence)


@dataclass(slots=True)
class Contents:
    model_id: str | None = None
    dimension: int | None = None
    memories: dict[MemoryKey, StoredMemory] = field(default_factory=dict[MemoryKey, StoredMemory])
    last_number: int = 0
    tags_versions: Counter[str] = field(default_factory=Counter[str])
    """By namespace."""
    feedback: dict[MemoryKey, dict[str, Feedback]] = field(default_factory=dict[MemoryKey, dict[str, Feedback]])
    """By memory and query."""
    edges: dict[MemoryKey, dict[EdgeKey, Edge]] = field(default_factory=dict[MemoryKey, dict[EdgeKey, Edge]])
    """By the memory they start from, and by their keys."""
    sources: dict[tuple[str, str], SourceRecord] = field(default_factory=dict[tuple[str, str], SourceRecord])
    """By namespace and source."""
    tunings: dict[str, list[Tuning]] = field(default_factory=dict[str, list[Tuning]])
    """By namespace; those that were rolled back are gone."""
    last_tuning: int = 0
    requests: dict[tuple[str, str], tuple[IdempotencyKey, bool]] = field(
        default_factory=dict[tuple[str, str], tuple[IdempotencyKey, bool]]
    )
    """By namespace and key: the first request with it, and whether it found its memory."""

    def passing(self, where: MemoryFilter) -> list[StoredMemory]:
        return [stored for stored in self.memories.values() if stored.passes(where)]

    def put(self, changed: Iterable[StoredMemory]) -> None:
        for stored in changed:
            key = (stored.memory.namespace, stored.memory.content_hash)
            before = self.memories.get(key)
            self.tags_versions[stored.memory.namespace] += stored.tags != (before.tags if before else frozenset())
            self.memories[key] = stored
            if self.dimension is None and stored.vectors:  # the first vector ever gives it
                self.dimension = stored.vectors[0].size

    def remove(self, key: MemoryKey) -> bool:
        """True if it was there."""
        removed = self.memories.pop(key, None)
        self.feedback.pop(key, None)
        self.edges.pop(key, None)
        self.tags_versions[key[0]] += removed is not None and bool(removed.tags)
        return removed is not None

    def move(self, key: MemoryKey, to_namespace: str, ended_at: int | None) -> Memory:
        """To another namespace, in the place of one with the same id, with all that belongs to it and the edges of that
        one: by them earlier versions are found."""
        stored, target = self.memories[key], (to_namespace, key[1])
        edges = self.edges.pop(target, {}) | self.edges.pop(key, {})
        self.remove(target)
        feedback = self.feedback.pop(key, None)
        self.remove(key)
        memory = replace(stored.memory, namespace=to_namespace, ended_at=ended_at)
        self.put([replace(stored, memory=memory)])
        if edges:
            self.edges[target] = edges
        if feedback:
            self.feedback[target] = feedback
        return memory

    def all_tags(self, namespace: str) -> list[TagCount]:
        spellings: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for stored in self.passing(MemoryFilter(namespace)):
            counts.update(stored.tags)
            spellings = {fold_tag(tag): tag for tag in stored.memory.tags} | spellings
        order = sorted(counts, key=lambda folded: (-counts[folded], folded))
        return [TagCount(spellings[folded], counts[folded]) for folded in order]

    def sample(self, where: MemoryFilter, limit: int) -> VectorSample:
        """The first ones by content_hash: it is a digest, so its order has nothing to do with what a memory says."""
        found = sorted(self.passing(where.corpus), key=lambda each: each.memory.content_hash)
        drawn = [(each.number, vector) for each in found for vector in each.vectors][:limit]
        vectors = np.array([vector for _, vector in drawn], np.float32).reshape(len(drawn), -1 if drawn else 0)
        waiting = sum(not each.vectors for each in found)
        return VectorSample(len({number for number, _ in drawn}), vectors, len(found), waiting)

    def stats(self, namespace: str) -> StoreStats:
        found = self.passing(MemoryFilter(namespace))
        dates = [stored.memory.created_at for stored in found]
        vectors = [vector for stored in found for vector in stored.vectors]
        return StoreStats(
            backend="memory",
            memories=len(found),
            tags=len({tag for stored in found for tag in stored.tags}),
            vectors=len(vectors),
            size_bytes=sum(len(stored.memory.content.encode()) for stored in found)
            + sum(each.nbytes for each in vectors),
            schema_version=0,
            embedding_model=self.model_id or "",
            embedding_dimension=self.dimension,
            memories_by_type=dict(Counter(stored.memory.memory_type or "" for stored in found).most_common()),
            oldest=min(dates, default=None),
            newest=max(dates, default=None),
            awaiting_vectors=sum(not stored.vectors for stored in found),
        )

    def first_outcome(self, namespace: str, key: IdempotencyKey) -> bool | None:
        """Whether the first request with this key found its memory; None if this is the first."""
        first, found = self.requests.get((namespace, key.key), (None, False))
        if first is None or first.received_at <= key.received_at - KEYS_KEPT_MICROSECONDS:
            return None
        if first.fingerprint != key.fingerprint:
            raise IdempotencyKeyReused
        return found


def best_first(scored: Iterable[tuple[float, StoredMemory]], limit: int) -> list[Candidate]:
    """Then newest first; the id breaks ties."""
    candidates = [stored.candidate(score) for score, stored in scored]
    return sorted(candidates, key=lambda found: (-found.score, -found.created_at, found.content_hash))[:limit]


def direction_of(vector: Vector) -> Direction:
    precise = vector.astype(np.float64)
    return precise / np.linalg.norm(precise)
