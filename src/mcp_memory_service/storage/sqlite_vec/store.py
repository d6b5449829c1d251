"""The storage port over one SQLite file."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from ...errors import MemoryServiceError, StorageFull, StorageUnavailable
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
    trash_of,
)
from ...private_files import remove_abandoned
from ..concept_files import remove_concept_files
from ..merging import apply_patch, check_record, source_items
from ..ports import SearchWork, TextAnalyzer
from ..scheduling import Concurrent, Inline, run_without_loop
from ..vectors import checked_items
from .file.connection import real_path, translated_errors
from .file.connections import ConnectionPool
from .file.filesystems import require_trustworthy
from .index import IndexFactory, SearchIndex, index_file
from .opening import pinned_in, prepared_pool
from .prepared_text import PreparedText
from .queries import feedback as learning
from .queries import graph, idempotency, reads, sources, writes
from .queries.snapshot import SnapshotReads
from .schema import pin_embedding, pinned_embedding, require_unchanged
from .upkeep import erasure

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)

SEARCHES_AT_ONCE = 2
"""Most of a search by the index holds Python's lock: more threads would only hand it to and fro."""

ERASING_PAUSE_SECONDS = 5.0
"""While a reader keeps an erasure from being finished, writes try it no more often than this."""


class SqliteVecStorage:
    """Open with `await SqliteVecStorage.open(...)`; any number of processes may have the file open at once."""

    def __init__(
        self, connections: ConnectionPool, model_id: str, analyze: TextAnalyzer, index: SearchIndex | None = None
    ) -> None:
        self.connections = connections
        self._model_id = model_id
        self._analyze = analyze
        self.index = index
        self._searching = asyncio.Semaphore(SEARCHES_AT_ONCE)
        self._try_erasing_after = 0.0

    @classmethod
    async def open(
        cls,
        path: Path,
        model_id: str,
        dimension: int | None,
        analyze: TextAnalyzer,
        *,
        on_any_filesystem: bool = False,
        index: IndexFactory | None = None,
    ) -> "SqliteVecStorage":
        """Create or migrate the file, check that its vectors are of this model, and connect to it. With an index, large
        stores are searched in memory; it takes a moment to be ready, so that it is for processes that stay."""
        await asyncio.to_thread(require_trustworthy, path, on_any_filesystem=on_any_filesystem)
        connections = await asyncio.to_thread(prepared_pool, path, model_id, dimension, analyze)
        return cls(connections, model_id, analyze, index(connections, model_id) if index else None)

    @classmethod
    async def open_existing(
        cls, path: Path, analyze: TextAnalyzer, *, on_any_filesystem: bool = False
    ) -> "SqliteVecStorage":
        """The store in this file with the model it was made with; StoreRefused if there is none."""
        await asyncio.to_thread(require_trustworthy, path, on_any_filesystem=on_any_filesystem)
        model_id, dimension = await asyncio.to_thread(pinned_in, path)
        return await cls.open(path, model_id, dimension, analyze, on_any_filesystem=on_any_filesystem)

    async def store_batch(self, items: Sequence[EmbeddedMemory]) -> list[StoreOutcome]:
        prepared = await self._prepared_text(item.memory for item in items)

        def store_all(connection: apsw.Connection) -> list[StoreOutcome]:
            checked = self._checked(connection, items)
            outcomes = [writes.store_memory(connection, item.memory, item.vectors, prepared) for item in checked]
            for item in checked:
                for old in item.supersedes:
                    writes.supersede(connection, item.memory, old)
            return outcomes

        return await self._write(store_all)

    async def search(self, work: SearchWork[T], *, part_by_part: bool = False) -> T:
        if not part_by_part and self.index is not None and self.index.searches_are_brief:
            try:
                async with self._searching:
                    return await self._on_snapshot(lambda snapshot: Inline().run(snapshot, work))
            except StorageUnavailable as error:
                logger.warning("Each part of the search is asked by itself: %s", error.message)
        return await Concurrent().run(self, work)

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        return await self._read(lambda snapshot: snapshot.retrieve(query_vector, limit, where))

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        return await self._read(lambda snapshot: snapshot.search_by_tag(weights, limit, where))

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        return await self._read(lambda snapshot: snapshot.search_by_text(terms, limit, where))

    async def corpus_statistics(
        self, where: MemoryFilter, words: Sequence[str], tags: Sequence[str]
    ) -> CorpusStatistics:
        return await self._read(lambda snapshot: snapshot.corpus_statistics(where, words, tags))

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        return await self._read(lambda snapshot: snapshot.adjacent(content_hashes, limit, where))

    async def linked(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Linked]:
        return await self._read(lambda snapshot: snapshot.linked(content_hashes, limit, where))

    async def chunk_similarities(
        self, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
    ) -> dict[str, list[float]]:
        return await self._read(lambda snapshot: snapshot.chunk_similarities(query_vector, namespace, content_hashes))

    async def sample_vectors(self, where: MemoryFilter, limit: int) -> VectorSample:
        return await self._read(lambda snapshot: snapshot.sample_vectors(where, limit))

    async def find_ids(self, namespace: str, prefix: str, limit: int) -> list[str]:
        return await self.connections.read(reads.find_ids, namespace, prefix, limit)

    async def get_all_tags(self, namespace: str) -> list[TagCount]:
        return await self.connections.read(reads.all_tags, namespace)

    async def tags_version(self, namespace: str) -> int:
        return await self._read(lambda snapshot: snapshot.tags_version(namespace))

    async def count_all_memories(self, namespace: str) -> int:
        return await self._read(lambda snapshot: snapshot.count_all_memories(namespace))

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        return await self._read(lambda snapshot: snapshot.get_many(namespace, content_hashes))

    async def list_memories(self, where: MemoryFilter, offset: int, limit: int) -> MemoryPage:
        return await self.connections.read(reads.page_of_memories, where, offset, limit)

    async def update(
        self,
        namespace: str,
        content_hash: str,
        patch: MemoryPatch,
        now: int,
        key: IdempotencyKey | None = None,
        vectors: Sequence[Vector] = (),
    ) -> Memory | None:
        cuts_text = patch.content is not None or bool(patch.tags is not None or patch.add_tags or patch.remove_tags)
        known = await self.get_many(namespace, [content_hash]) if cuts_text else []
        prepared = await self._prepared_text(apply_patch(memory, patch, now) for memory in known)
        return await self._write(idempotency.patch, namespace, content_hash, patch, now, prepared, key, vectors)

    async def delete(
        self, namespace: str, content_hash: str, key: IdempotencyKey | None = None, *, trashed_at: int | None = None
    ) -> bool:
        return await self._write(idempotency.delete, namespace, content_hash, key, trashed_at)

    async def restore(self, namespace: str, content_hash: str, now: int) -> Memory | None:
        found = await self.get_many(trash_of(namespace), [content_hash])
        prepared = await self._prepared_text(found)
        return await self._write(writes.restore_memory, namespace, content_hash, now, prepared)

    async def purge(self, namespace: str, content_hashes: Sequence[str]) -> Purged:
        def delete_all(connection: apsw.Connection) -> tuple[str, ...]:
            erasure.note_due(connection)
            return tuple(each for each in content_hashes if not writes.purge_memory(connection, namespace, each))

        not_found = await self._write(delete_all)
        try:
            await asyncio.to_thread(self._forget_copies)
            await self.connections.outside_transaction(erasure.rewrite, self.connections.path)
            erased = await self.connections.outside_transaction(erasure.finish, erasure.READERS_WAIT_MILLISECONDS)
        except (StorageFull, StorageUnavailable) as error:
            # Deleted they are, and what is left to do is noted in the store.
            logger.warning("Deleted memories could not be erased yet: %s", error.message)
            erased = False
        return Purged(not_found, erased)

    async def stats(self, namespace: str) -> StoreStats:
        return await self.connections.read(reads.store_stats, namespace)

    async def replace_source(
        self,
        namespace: str,
        source: str,
        items: Sequence[EmbeddedMemory],
        edges: Sequence[Edge],
        record: SourceRecord | None = None,
    ) -> SourceOutcome:
        by_id = source_items(namespace, source, items, edges, record)
        prepared = await self._prepared_text(item.memory for item in by_id.values())

        def replace_all(connection: apsw.Connection) -> SourceOutcome:
            checked = {item.memory.content_hash: item for item in self._checked(connection, by_id.values())}
            return sources.replace_source(connection, namespace, source, checked, edges, record, prepared)

        return await self._write(replace_all)

    async def relink_source(self, namespace: str, source: str, edges: Sequence[Edge], record: SourceRecord) -> None:
        check_record(source, record)
        await self._write(sources.relink_source, namespace, source, edges, record)

    async def list_sources(
        self, namespace: str, scope: str | None = None, *, details: bool = True
    ) -> list[SourceRecord]:
        return await self.connections.read(sources.list_sources, namespace, scope, details=details)

    async def awaiting_vectors(self, limit: int, namespace: str | None = None) -> list[Memory]:
        return await self.connections.read(reads.awaiting_vectors, limit, namespace)

    async def add_vectors(self, items: Sequence[EmbeddedMemory]) -> int:
        def add_all(connection: apsw.Connection) -> int:
            checked = self._checked(connection, items, may_wait=False)
            return sum([writes.add_vectors(connection, item.memory, item.vectors) for item in checked])

        return await self._write(add_all)

    async def add_edges(self, namespace: str, edges: Sequence[Edge]) -> list[str]:
        return await self._write(graph.add_edges, namespace, edges)

    async def edges_from(
        self, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind] = ()
    ) -> dict[str, list[Edge]]:
        return await self.connections.read(graph.edges_from, namespace, ids, kinds)

    async def edges_to(
        self, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind] = ()
    ) -> dict[str, list[Edge]]:
        return await self.connections.read(graph.edges_to, namespace, ids, kinds)

    async def resolve(self, namespace: str, names: Sequence[str]) -> dict[str, list[str]]:
        return await self.connections.read(graph.resolve, namespace, names)

    async def add_feedback(self, namespace: str, feedback: Feedback) -> bool:
        return await self._write(learning.add_feedback, namespace, feedback)

    async def list_feedback(self, namespace: str) -> list[Feedback]:
        return await self.connections.read(learning.all_feedback, namespace)

    async def save_tuning(self, namespace: str, tuning: Tuning) -> Tuning:
        return await self._write(learning.save_tuning, namespace, tuning)

    async def current_tuning(self, namespace: str) -> Tuning | None:
        return await self.connections.read(learning.current_tuning, namespace)

    async def roll_back_tuning(self, namespace: str) -> Tuning | None:
        return await self._write(learning.roll_back_tuning, namespace)

    async def namespaces(self) -> list[str]:
        return await self.connections.read(reads.namespaces)

    async def scan(self, cursor: str | None, limit: int) -> MemoryScan:
        return await self.connections.read(reads.scan, cursor, limit)

    async def get_embedded(self, namespace: str, content_hashes: Sequence[str]) -> list[EmbeddedMemory]:
        return await self.connections.read(reads.get_embedded, namespace, content_hashes)

    async def check_search(self) -> None:
        def search(connection: apsw.Connection) -> None:
            self._require_unchanged(connection)
            reads.touch_everything(connection)

        await self.connections.read(search)

    async def check_write(self) -> None:
        def write(connection: apsw.Connection) -> None:
            self._require_unchanged(connection)
            writes.touch(connection)

        await self.connections.try_write(write)

    async def wait_ready(self) -> None:
        if self.index:
            await self.index.wait_ready()

    @property
    def degraded(self) -> tuple[str, ...]:
        return self.index.degraded if self.index else ()

    async def close(self) -> None:
        try:
            if self.index:
                await self.index.close()
        finally:
            await self.connections.close()

    async def _read(self, read: Callable[[SnapshotReads], Coroutine[Any, Any, T]]) -> T:
        return await self._on_snapshot(lambda snapshot: run_without_loop(read(snapshot)))

    async def _on_snapshot(self, work: Callable[[SnapshotReads], T]) -> T:
        """On a snapshot of its own, with the index if it is ready."""

        def read(connection: apsw.Connection) -> T:
            index = self.index.reader_for(connection) if self.index else None
            try:
                found = work(SnapshotReads(connection, index, self._require_unchanged))
            except Exception:  # anything may come of an index that somebody writes to
                if index is None or index.is_intact():
                    raise
            else:
                if index is None or index.is_intact():
                    return found
            return read(connection)  # without that index

        return await self.connections.read(read)

    async def _write(self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def checked(connection: apsw.Connection) -> tuple[T, bool]:
            self._require_unchanged(connection)
            return work(connection, *args, **kwargs), erasure.only_log_is_left(connection)

        done, may_finish_erasing = await self.connections.write(checked)
        if may_finish_erasing and time.monotonic() >= self._try_erasing_after:
            self._try_erasing_after = time.monotonic() + ERASING_PAUSE_SECONDS
            with suppress(MemoryServiceError):  # this write is done; another one will try again
                await self.connections.outside_transaction(erasure.finish, wait_milliseconds=0)
        return done

    async def _prepared_text(self, memories: Iterable[Memory]) -> PreparedText:
        return await asyncio.to_thread(PreparedText, self._analyze, memories)

    def _forget_copies(self) -> None:
        """The file of the index holds what was purged, if not as text; those of vocabularies have words of it, and what
        a killed backup or export left, all of it."""
        with translated_errors():
            remove_concept_files(real_path(self.connections.path))
            index = index_file(self.connections.path)
            index.unlink(missing_ok=True)
            for part in remove_abandoned(index.parent):
                logger.warning("%s is being written and may hold what was purged.", part)
        if self.index:
            self.index.build_again()

    def _require_unchanged(self, connection: apsw.Connection) -> int | None:
        return require_unchanged(connection, self._model_id)

    def _checked(
        self, connection: apsw.Connection, items: Iterable[EmbeddedMemory], *, may_wait: bool = True
    ) -> list[EmbeddedMemory]:
        """With vectors that are fit to be stored; the first one ever pins the dimension of the store."""
        _, dimension = pinned_embedding(connection)
        checked = checked_items(items, dimension, may_wait=may_wait)
        if dimension is None:
            for first in [vector for item in checked for vector in item.vectors][:1]:
                pin_embedding(connection, self._model_id, first.size)
        return checked
