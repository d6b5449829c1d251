"""`MemoryStore`: the storage port over plain dictionaries.

Every method does its work without awaiting, so that each is one transaction on the event loop.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ...errors import EmbeddingMismatch, StorageUnavailable
from ...models import (
    Candidate,
    CorpusStatistics,
    Edge,
    EdgeKind,
    EmbeddedMemory,
    Feedback,
    IdempotencyKey,
    Linked,
    Memory,
    MemoryFilter,
    MemoryPage,
    MemoryPatch,
    MemoryScan,
    Purged,
    QueryTerms,
    SourceOutcome,
    SourceRecord,
    StoreOutcome,
    StoreStats,
    TagCount,
    TextMatches,
    Tuning,
    Vector,
    VectorSample,
    history_of,
    trash_of,
)
from ..merging import apply_patch, edit_joining, first_form, patched_id, source_items, superseded, unite
from ..ports import SearchWork, TextAnalyzer
from ..scheduling import Concurrent
from ..vectors import checked_items, checked_vector
from . import graph, sources
from .contents import Contents, MemoryKey, StoredMemory, best_first, direction_of
from .text import bm25_scores

T = TypeVar("T")


class MemoryStore:
    """Open with `await MemoryStore.open(...)`. What is in it goes with the process."""

    def __init__(self, contents: Contents, analyze: TextAnalyzer) -> None:
        self._shared = contents
        self._analyze = analyze
        self._closed = False

    @classmethod
    async def open(
        cls, model_id: str, dimension: int | None, analyze: TextAnalyzer, contents: Contents | None = None
    ) -> "MemoryStore":
        """A new store, or another handle of one that is there already, if its vectors are of this model."""
        held = Contents() if contents is None else contents
        if held.model_id not in {None, model_id}:
            raise EmbeddingMismatch(f"This store holds vectors of the model {held.model_id!r}, not of {model_id!r}.")
        if None not in {held.dimension, dimension} and held.dimension != dimension:
            raise EmbeddingMismatch(f"This store holds vectors of {held.dimension} numbers, not of {dimension}.")
        held.model_id, held.dimension = model_id, held.dimension or dimension
        return cls(held, analyze)

    @property
    def _contents(self) -> Contents:
        if self._closed:
            raise StorageUnavailable("The store is closed.")
        return self._shared

    # --- searching

    async def search(self, work: SearchWork[T], *, part_by_part: bool = False) -> T:  # noqa: ARG002 - it always is
        return await Concurrent().run(self, work)

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> list[Candidate]:
        contents = self._contents
        query = direction_of(checked_vector(query_vector, contents.dimension))
        with_vectors = (stored for stored in contents.passing(where) if stored.vectors)
        return best_first(((stored.similarity(query), stored) for stored in with_vectors), limit)

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> list[Candidate]:
        carrying = (stored for stored in self._contents.passing(where) if not stored.tags.isdisjoint(weights))
        # Rounded, so that equal sets of tags stay equal in whatever order they are summed.
        scored = ((round(math.fsum(weights.get(tag, 0.0) for tag in each.tags), 9), each) for each in carrying)
        return best_first(scored, limit)

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        memories = self._contents.passing(where.corpus)
        scores = bm25_scores([stored.words for stored in memories], terms)
        matching = (
            (score, each) for score, each in zip(scores, memories, strict=True) if score > 0 and each.passes(where)
        )
        found = best_first(matching, limit)
        if not found:
            return TextMatches()
        best = self._contents.memories[where.namespace, found[0].content_hash]
        return TextMatches(found, frozenset(terms.all_words).intersection(best.words.in_text))

    async def corpus_statistics(
        self, where: MemoryFilter, words: Sequence[str], tags: Sequence[str]
    ) -> CorpusStatistics:
        corpus = self._contents.passing(where.corpus)
        having_word = {word: sum(each.words.has(word) for each in corpus) for word in words}
        return CorpusStatistics(len(corpus), having_word, {tag: sum(tag in e.tags for e in corpus) for tag in tags})

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> list[Candidate]:
        return graph.adjacent(self._contents, content_hashes, limit, where)

    async def linked(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> list[Linked]:
        return graph.linked(self._contents, content_hashes, limit, where)

    async def chunk_similarities(
        self, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
    ) -> dict[str, list[float]]:
        query = direction_of(checked_vector(query_vector, self._contents.dimension))
        return {
            stored.memory.content_hash: [float(query @ direction) for direction in stored.directions]
            for stored in self._many(namespace, content_hashes)
            if stored.vectors
        }

    async def tags_version(self, namespace: str) -> int:
        return self._contents.tags_versions[namespace]

    async def count_all_memories(self, namespace: str) -> int:
        return len(self._contents.passing(MemoryFilter(namespace)))

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        return [stored.memory for stored in self._many(namespace, content_hashes)]

    # --- reading

    async def list_memories(self, where: MemoryFilter, offset: int, limit: int) -> MemoryPage:
        found = [stored.memory for stored in self._contents.passing(where)]
        found.sort(key=lambda memory: (-memory.created_at, memory.content_hash))
        return MemoryPage(tuple(found[offset : offset + limit]), len(found))

    async def get_embedded(self, namespace: str, content_hashes: Sequence[str]) -> list[EmbeddedMemory]:
        return [EmbeddedMemory(stored.memory, stored.vectors) for stored in self._many(namespace, content_hashes)]

    async def find_ids(self, namespace: str, prefix: str, limit: int) -> list[str]:
        return sorted(
            each for owner, each in self._contents.memories if owner == namespace and each.startswith(prefix)
        )[:limit]

    async def get_all_tags(self, namespace: str) -> list[TagCount]:
        return self._contents.all_tags(namespace)

    async def sample_vectors(self, where: MemoryFilter, limit: int) -> VectorSample:
        return self._contents.sample(where, limit)

    async def stats(self, namespace: str) -> StoreStats:
        return self._contents.stats(namespace)

    async def namespaces(self) -> list[str]:
        return sorted({namespace for namespace, _ in self._contents.memories})

    async def scan(self, cursor: str | None, limit: int) -> MemoryScan:
        """In the order in which they were first stored, wherever they have moved since."""
        rest = [stored for stored in self._contents.memories.values() if stored.number > int(cursor or 0)]
        rest.sort(key=lambda stored: stored.number)
        items = tuple(EmbeddedMemory(stored.memory, stored.vectors) for stored in rest[:limit])
        return MemoryScan(items, cursor=str(rest[limit - 1].number) if len(rest) > limit else None)

    # --- writing

    async def store_batch(self, items: Sequence[EmbeddedMemory]) -> list[StoreOutcome]:
        contents = self._contents
        checked = checked_items(items, contents.dimension)
        changed: dict[MemoryKey, StoredMemory] = {}
        outcomes: list[StoreOutcome] = []
        for item in checked:
            key = (item.memory.namespace, item.memory.content_hash)
            existing = changed.get(key) or contents.memories.get(key)
            changed[key] = self._stored(existing, item.memory, item.vectors)
            outcomes.append(StoreOutcome(changed[key].memory, created=existing is None))
        contents.put(changed.values())
        for item in checked:
            for old in item.supersedes:
                self._supersede(item.memory, old)
        return outcomes

    def _stored(self, existing: StoredMemory | None, memory: Memory, vectors: tuple[Vector, ...]) -> StoredMemory:
        """As it is kept: as it comes, or united with the one that is there."""
        if existing:
            return self._with_memory(existing, unite(existing.memory, memory)).with_vectors(vectors)
        self._contents.last_number += 1
        return StoredMemory.of(self._contents.last_number, first_form(memory), vectors, self._analyze)

    def _supersede(self, new: Memory, old_id: str) -> None:
        contents, old = self._contents, (new.namespace, old_id)
        if old in contents.memories and old_id != new.content_hash:
            contents.move(old, history_of(new.namespace), new.updated_at)
            graph.add_edges(contents, new.namespace, [superseded(new.content_hash, old_id)])

    async def update(
        self,
        namespace: str,
        content_hash: str,
        patch: MemoryPatch,
        now: int,
        key: IdempotencyKey | None = None,
        vectors: Sequence[Vector] = (),
    ) -> Memory | None:
        contents = self._contents
        if key is not None and contents.first_outcome(namespace, key) is not None:
            found = self._many(namespace, [patched_id(content_hash, patch), content_hash])
            return found[0].memory if found else None
        existing = contents.memories.get((namespace, content_hash))
        if existing is None:
            return None
        patched = apply_patch(existing.memory, patch, now)
        if patched.content_hash == content_hash:
            contents.put([self._with_memory(existing, patched)])
        else:
            patched = self._revise(existing.memory, patched, tuple(vectors))
        if key is not None:
            contents.requests[namespace, key.key] = (key, True)
        return patched

    def _revise(self, old: Memory, new: Memory, vectors: tuple[Vector, ...]) -> Memory:
        contents = self._contents
        (item,) = checked_items([EmbeddedMemory(new, vectors)], contents.dimension)
        source, target = (old.namespace, old.content_hash), (new.namespace, new.content_hash)
        there = contents.memories.get(target)
        kept = self._stored(there, edit_joining(there.memory, new) if there else new, item.vectors)
        contents.put([kept])
        self._hand_on(source, target)
        self._supersede(new, old.content_hash)
        return kept.memory

    def _hand_on(self, source: MemoryKey, target: MemoryKey) -> None:
        """Edges and feedback; what the target has of its own stays."""
        contents, (namespace, new_id) = self._contents, target
        own = list(contents.edges.get(target, {}).values())
        edges = [replace(edge, from_id=new_id) for edge in contents.edges.pop(source, {}).values()]
        graph.add_edges(contents, namespace, [*edges, *own])  # of two with one key, the later one counts
        said = {query: replace(each, content_hash=new_id) for query, each in contents.feedback.pop(source, {}).items()}
        contents.feedback[target] = said | contents.feedback.get(target, {})

    async def delete(
        self, namespace: str, content_hash: str, key: IdempotencyKey | None = None, *, trashed_at: int | None = None
    ) -> bool:
        contents, memory_key = self._contents, (namespace, content_hash)
        outcome = None if key is None else contents.first_outcome(namespace, key)
        if outcome is not None:
            return outcome
        outcome = memory_key in contents.memories
        if outcome and trashed_at is not None:
            contents.move(memory_key, trash_of(namespace), trashed_at)
        contents.remove(memory_key)
        if key is not None:
            contents.requests[namespace, key.key] = (key, outcome)
        return outcome

    async def restore(self, namespace: str, content_hash: str, now: int) -> Memory | None:
        contents, trashed = self._contents, (trash_of(namespace), content_hash)
        found, live = contents.memories.get(trashed), contents.memories.get((namespace, content_hash))
        if found is None:
            return None
        if live is None:
            return contents.move(trashed, namespace, None)
        united = self._with_memory(live, unite(live.memory, replace(found.memory, updated_at=now)))
        contents.put([united])
        self._hand_on(trashed, (namespace, content_hash))
        contents.remove(trashed)
        return united.memory

    async def awaiting_vectors(self, limit: int, namespace: str | None = None) -> list[Memory]:
        waiting = [each for each in self._contents.memories.values() if not each.vectors]
        waiting.sort(key=lambda each: each.number)
        return [each.memory for each in waiting if namespace in {None, each.memory.namespace}][:limit]

    async def add_vectors(self, items: Sequence[EmbeddedMemory]) -> int:
        contents, added = self._contents, 0
        for item in checked_items(items, contents.dimension, may_wait=False):
            for stored in self._many(item.memory.namespace, [item.memory.content_hash]):
                added += not stored.vectors
                contents.put([stored.with_vectors(item.vectors)])
        return added

    async def purge(self, namespace: str, content_hashes: Sequence[str]) -> Purged:
        places = (namespace, history_of(namespace), trash_of(namespace))
        there = {each: [self._contents.remove((place, each)) for place in places] for each in content_hashes}
        graph.remove_edges_to(self._contents, places, content_hashes)
        return Purged(tuple(each for each, removed in there.items() if not any(removed)), erased=True)

    # --- the graph

    async def replace_source(
        self,
        namespace: str,
        source: str,
        items: Sequence[EmbeddedMemory],
        edges: Sequence[Edge],
        record: SourceRecord | None = None,
    ) -> SourceOutcome:
        contents, by_id = self._contents, source_items(namespace, source, items, edges, record)
        checked = {item.memory.content_hash: item for item in checked_items(by_id.values(), contents.dimension)}
        return sources.replace_source(contents, namespace, source, checked, edges, record, self._analyze)

    async def relink_source(self, namespace: str, source: str, edges: Sequence[Edge], record: SourceRecord) -> None:
        sources.relink_source(self._contents, namespace, source, edges, record)

    async def list_sources(
        self, namespace: str, scope: str | None = None, *, details: bool = True
    ) -> list[SourceRecord]:
        return sources.list_sources(self._contents, namespace, scope, details=details)

    async def add_edges(self, namespace: str, edges: Sequence[Edge]) -> list[str]:
        return graph.add_edges(self._contents, namespace, edges)

    async def edges_from(
        self, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind] = ()
    ) -> dict[str, list[Edge]]:
        return graph.edges_from(self._contents, namespace, ids, kinds)

    async def edges_to(
        self, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind] = ()
    ) -> dict[str, list[Edge]]:
        return graph.edges_to(self._contents, namespace, ids, kinds)

    async def resolve(self, namespace: str, names: Sequence[str]) -> dict[str, list[str]]:
        return graph.resolve(self._contents, namespace, names)

    # --- learning

    async def add_feedback(self, namespace: str, feedback: Feedback) -> bool:
        contents, key = self._contents, (namespace, feedback.content_hash)
        if key not in contents.memories:
            return False
        contents.feedback.setdefault(key, {})[feedback.query] = feedback
        return True

    async def list_feedback(self, namespace: str) -> list[Feedback]:
        said = [
            feedback
            for (owner, _), by_query in self._contents.feedback.items()
            if owner == namespace
            for feedback in by_query.values()
        ]
        return sorted(said, key=lambda feedback: feedback.created_at)

    async def save_tuning(self, namespace: str, tuning: Tuning) -> Tuning:
        contents = self._contents
        contents.last_tuning += 1
        saved = replace(tuning, version=contents.last_tuning)
        contents.tunings.setdefault(namespace, []).append(saved)
        return saved

    async def current_tuning(self, namespace: str) -> Tuning | None:
        kept = self._contents.tunings.get(namespace)
        return kept[-1] if kept else None

    async def roll_back_tuning(self, namespace: str) -> Tuning | None:
        kept = self._contents.tunings.get(namespace)
        return kept.pop() if kept else None

    # --- health

    @property
    def degraded(self) -> tuple[str, ...]:
        return ()

    async def wait_ready(self) -> None:
        """It is as fast as it gets."""

    async def check_search(self) -> None:
        _ = self._contents

    async def check_write(self) -> None:
        _ = self._contents

    async def close(self) -> None:
        self._closed = True

    def _many(self, namespace: str, content_hashes: Sequence[str]) -> list[StoredMemory]:
        found = (self._contents.memories.get((namespace, content_hash)) for content_hash in content_hashes)
        return [stored for stored in found if stored]

    def _with_memory(self, stored: StoredMemory, memory: Memory) -> StoredMemory:
        return StoredMemory.of(stored.number, memory, stored.vectors, self._analyze)
