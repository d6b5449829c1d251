"""`QdrantStorage`: the storage port on one collection."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from ...errors import InvalidVector, StoreRefused
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
from ..merging import check_record, patched_id, source_items
from ..ports import SearchWork, TextAnalyzer
from ..scheduling import Concurrent
from ..vectors import checked_items, checked_vector
from .collection import Pinned, open_collection, pinned_embedding
from .connection import QdrantConnection
from .corpus_stats import CorpusSizes, TextStatistics
from .inflight import AcceptedWrites
from .options import QdrantOptions
from .queries import graph, links, reads
from .queries.sources import list_sources
from .queries.tag_search import search_by_tag
from .queries.text_search import corpus_statistics, search_by_text
from .queries.vector_samples import VectorSamples
from .upgrade import brought_up_to_date
from .writes import feedback as learning
from .writes.idempotency import KeyedWriter
from .writes.moves import Mover
from .writes.sources import SourceWriter
from .writes.writer import Writer

T = TypeVar("T")

# As long as a server that is stopped gives its requests to finish.
CLOSING_SECONDS = 10.0


class QdrantStorage:
    """Open with `await QdrantStorage.open(...)`; any number of services may share the collection."""

    def __init__(self, connection: QdrantConnection, pinned: Pinned, analyze: TextAnalyzer) -> None:
        self._connection = connection
        self._pinned = pinned
        self._writer = Writer(connection, analyze)
        self._source_writer = SourceWriter(connection, self._writer)
        self._mover = Mover(connection, self._writer, self._source_writer)
        self._keyed_writer = KeyedWriter(connection, self._writer, self._mover)
        self._writes = AcceptedWrites()
        self._statistics = TextStatistics(connection)
        self._sizes = CorpusSizes(connection)
        self._samples = VectorSamples(connection, self._sizes)

    @classmethod
    async def open(
        cls, options: QdrantOptions, model_id: str, dimension: int | None, analyze: TextAnalyzer
    ) -> "QdrantStorage":
        """Make or complete the collection, and check that its vectors are of this model."""
        connection = QdrantConnection(options)
        try:
            pinned = await brought_up_to_date(connection, await open_collection(connection, model_id, dimension))
        except BaseException:
            await connection.close()
            raise
        return cls(connection, pinned, analyze)

    @classmethod
    async def open_existing(cls, options: QdrantOptions, analyze: TextAnalyzer) -> "QdrantStorage":
        """The store in this collection with the model it was made with; StoreRefused if there is none."""
        connection = QdrantConnection(options)
        try:
            pinned = await pinned_embedding(connection)
        finally:
            await connection.close()
        if pinned is None:
            raise StoreRefused(f"There is no Qdrant collection {options.collection!r} at {options.url}.")
        return await cls.open(options, pinned.model_id, pinned.dimension, analyze)

    async def store_batch(self, items: Sequence[EmbeddedMemory]) -> list[StoreOutcome]:
        checked = checked_items(items, self._pinned.dimension)
        superseded = [history_of(item.memory.namespace) for item in items for _ in item.supersedes]
        async with self._writing([*(item.memory.namespace for item in items), *superseded]):
            return await self._mover.store(checked)

    async def search(self, work: SearchWork[T], *, part_by_part: bool = False) -> T:  # noqa: ARG002 - it always is
        return await Concurrent().run(self, work)

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> list[Candidate]:
        vector = checked_vector(query_vector, self._pinned.dimension)
        return await reads.retrieve(self._connection, vector, limit, where)

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> list[Candidate]:
        return await search_by_tag(self._connection, weights, limit, where)

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        return await search_by_text(self._connection, self._statistics, terms, limit, where)

    async def corpus_statistics(
        self, where: MemoryFilter, words: Sequence[str], tags: Sequence[str]
    ) -> CorpusStatistics:
        return await corpus_statistics(self._statistics.of(where), self._sizes.of(where), words, tags)

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> list[Candidate]:
        return await reads.adjacent(self._connection, content_hashes, limit, where)

    async def linked(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> list[Linked]:
        return await links.linked(self._connection, content_hashes, limit, where)

    async def chunk_similarities(
        self, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
    ) -> dict[str, list[float]]:
        vector = checked_vector(query_vector, self._pinned.dimension)
        return await reads.chunk_similarities(self._connection, vector, namespace, content_hashes)

    async def sample_vectors(self, where: MemoryFilter, limit: int) -> VectorSample:
        return await self._samples.of(where, limit)

    async def find_ids(self, namespace: str, prefix: str, limit: int) -> list[str]:
        return await reads.find_ids(self._connection, namespace, prefix, limit)

    async def get_all_tags(self, namespace: str) -> list[TagCount]:
        return await reads.all_tags(self._connection, namespace)

    async def tags_version(self, namespace: str) -> int:
        return await reads.tags_version(self._connection, namespace)

    async def count_all_memories(self, namespace: str) -> int:
        return await self._sizes.of(MemoryFilter(namespace))

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        return await reads.get_many(self._connection, namespace, content_hashes)

    async def list_memories(self, where: MemoryFilter, offset: int, limit: int) -> MemoryPage:
        return await reads.page_of_memories(self._connection, where, offset, limit)

    async def update(
        self,
        namespace: str,
        content_hash: str,
        patch: MemoryPatch,
        now: int,
        key: IdempotencyKey | None = None,
        vectors: Sequence[Vector] = (),
    ) -> Memory | None:
        checked = [checked_vector(vector, self._pinned.dimension) for vector in vectors]
        if not checked and patched_id(content_hash, patch) != content_hash:
            raise InvalidVector("A new version cannot be stored without an embedding.")
        async with self._writing([namespace, *([history_of(namespace)] if patch.content is not None else [])]):
            if key is not None:
                return await self._keyed_writer.patch(namespace, content_hash, patch, now, checked, key)
            return await self._mover.patch(namespace, content_hash, patch, now, checked)

    async def delete(
        self, namespace: str, content_hash: str, key: IdempotencyKey | None = None, *, trashed_at: int | None = None
    ) -> bool:
        trash = trash_of(namespace)
        async with self._writing([namespace, *([trash] if trashed_at is not None else [])]):
            if key is not None:
                return await self._keyed_writer.delete(namespace, content_hash, key, trashed_at)
            if trashed_at is not None:
                return await self._mover.retire(namespace, content_hash, trash, trashed_at)
            return await self._writer.delete(namespace, content_hash)

    async def restore(self, namespace: str, content_hash: str, now: int) -> Memory | None:
        async with self._writing([namespace, trash_of(namespace)]):
            return await self._mover.restore(namespace, content_hash, now)

    async def purge(self, namespace: str, content_hashes: Sequence[str]) -> Purged:
        """Qdrant erases what is deleted when it tidies its segments up, in its own time and without saying so."""
        places = [namespace, history_of(namespace), trash_of(namespace)]
        async with self._writing([place for place in places for _ in content_hashes]):
            found = await self._mover.purge(namespace, content_hashes)
        return Purged(tuple(each for each in content_hashes if each not in found), erased=False)

    async def stats(self, namespace: str) -> StoreStats:
        return await reads.store_stats(self._connection, namespace, self._pinned)

    async def replace_source(
        self,
        namespace: str,
        source: str,
        items: Sequence[EmbeddedMemory],
        edges: Sequence[Edge],
        record: SourceRecord | None = None,
    ) -> SourceOutcome:
        by_id = source_items(namespace, source, checked_items(items, self._pinned.dimension), edges, record)
        async with self._writing([namespace] * len(items)):
            return await self._source_writer.replace_source(namespace, source, by_id, edges, record)

    async def relink_source(self, namespace: str, source: str, edges: Sequence[Edge], record: SourceRecord) -> None:
        check_record(source, record)
        async with self._writes.accepted():
            await self._source_writer.relink_source(namespace, source, edges, record)

    async def list_sources(
        self, namespace: str, scope: str | None = None, *, details: bool = True
    ) -> list[SourceRecord]:
        return await list_sources(self._connection, namespace, scope, details=details)

    async def awaiting_vectors(self, limit: int, namespace: str | None = None) -> list[Memory]:
        return await reads.awaiting_vectors(self._connection, limit, namespace)

    async def add_vectors(self, items: Sequence[EmbeddedMemory]) -> int:
        checked = checked_items(items, self._pinned.dimension, may_wait=False)
        async with self._writes.accepted():
            return await self._writer.add_vectors(checked)

    async def add_edges(self, namespace: str, edges: Sequence[Edge]) -> list[str]:
        async with self._writes.accepted():
            return await self._source_writer.add_edges(namespace, edges)

    async def edges_from(
        self, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind] = ()
    ) -> dict[str, list[Edge]]:
        return await graph.outgoing(self._connection, namespace, ids, kinds)

    async def edges_to(
        self, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind] = ()
    ) -> dict[str, list[Edge]]:
        return await graph.incoming(self._connection, namespace, ids, kinds)

    async def resolve(self, namespace: str, names: Sequence[str]) -> dict[str, list[str]]:
        return await graph.resolve(self._connection, namespace, names)

    async def add_feedback(self, namespace: str, feedback: Feedback) -> bool:
        return await learning.add_feedback(self._connection, namespace, feedback)

    async def list_feedback(self, namespace: str) -> list[Feedback]:
        return await learning.all_feedback(self._connection, namespace)

    async def save_tuning(self, namespace: str, tuning: Tuning) -> Tuning:
        return await learning.save_tuning(self._connection, namespace, tuning)

    async def current_tuning(self, namespace: str) -> Tuning | None:
        return await learning.current_tuning(self._connection, namespace)

    async def roll_back_tuning(self, namespace: str) -> Tuning | None:
        return await learning.roll_back_tuning(self._connection, namespace)

    async def namespaces(self) -> list[str]:
        return await reads.namespaces(self._connection)

    async def scan(self, cursor: str | None, limit: int) -> MemoryScan:
        return await reads.scan(self._connection, cursor, limit)

    async def get_embedded(self, namespace: str, content_hashes: Sequence[str]) -> list[EmbeddedMemory]:
        return await reads.get_embedded(self._connection, namespace, content_hashes)

    async def check_search(self) -> None:
        """The collection is asked for, not only the server: it may have been dropped."""
        if await pinned_embedding(self._connection) != self._pinned:
            raise StoreRefused("The Qdrant collection was dropped or replaced; restart the service.")

    async def check_write(self) -> None:
        await self._writer.touch()

    async def wait_ready(self) -> None:
        """A cluster that builds an index answers as fast as it can, and does not say."""

    @property
    def degraded(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        await self._writes.finish(CLOSING_SECONDS)
        await self._connection.close()

    @asynccontextmanager
    async def _writing(self, namespaces: Sequence[str]) -> AsyncGenerator[None, None]:
        """Of each memory that is written, its namespace."""
        async with self._writes.accepted():
            try:
                yield
            finally:
                self._statistics.note_writes(namespaces)
