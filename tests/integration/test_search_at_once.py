"""A search by one thread: one snapshot, and nothing that was prepared for another state of the store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest
from tests.indexed_store import open_indexed
from tests.support.fakes import WordEmbedder
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import MemoryDraft
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.ports import Snapshot
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.index import IndexOptions, IndexReader, LiveIndex
from mcp_memory_service.storage.sqlite_vec.queries.writes import delete_memory


async def filled(opened: SqliteVecStorage) -> SqliteVecStorage:
    await MemoryService(opened, WordEmbedder()).store_batch(
        [MemoryDraft(f"note {number} about rathole", tags=("rathole",)) for number in range(30)]
    )
    return opened


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteVecStorage]:
    opened = await filled(await open_indexed(tmp_path / "store.db", WordEmbedder.model_id, WordEmbedder.dimension))
    yield opened
    await opened.close()


@pytest.fixture
async def small_store(tmp_path: Path) -> AsyncIterator[SqliteVecStorage]:
    """Too small for its index, and known to be."""
    index = partial(LiveIndex, options=IndexOptions())
    opened = await SqliteVecStorage.open(
        tmp_path / "small.db", WordEmbedder.model_id, WordEmbedder.dimension, indexed_text, index=index
    )
    await filled(opened)
    async with asyncio.timeout(HANG_SECONDS):
        await opened.wait_ready()
    yield opened
    await opened.close()


async def test_a_search_sees_one_state_of_the_store(
    store: SqliteVecStorage, small_store: SqliteVecStorage, tmp_path: Path
):
    await sees_one_state(store, tmp_path / "store.db")
    await sees_one_state(small_store, tmp_path / "small.db")


async def sees_one_state(store: SqliteVecStorage, path: Path) -> None:
    counted: list[int] = []

    async def count_twice(snapshot: Snapshot) -> None:
        reads = snapshot.reads
        counted.append(await reads.count_all_memories("default"))
        with closing(connect(path, read_only=False)) as another:
            delete_memory(another, "default", hashes[0])
        counted.append(await reads.count_all_memories("default"))
        counted.append(len(await reads.get_many("default", hashes)))

    hashes = [memory.content_hash for memory in (await MemoryService(store, WordEmbedder()).list_memories()).memories]
    await store.search(count_twice)
    assert counted == [30, 30, len(hashes)]
    assert await store.count_all_memories("default") == 29


async def test_a_tag_of_another_process_is_known_to_the_next_search(store: SqliteVecStorage):
    one, other = MemoryService(store, WordEmbedder()), MemoryService(store, WordEmbedder())
    assert (await one.retrieve_memories("a kestrel note")).keywords == ()
    await other.store_memory(MemoryDraft("it hovers", tags=("kestrel",)))
    found = await one.retrieve_memories("a kestrel note")
    assert found.keywords == ("kestrel",)
    assert found.results[0].memory.content == "it hovers"
    assert found.degraded == ()


async def test_a_search_that_fails_as_a_whole_is_asked_part_by_part(
    store: SqliteVecStorage, monkeypatch: pytest.MonkeyPatch
):
    """One signal may be out of order; the others answer."""

    def broken(*_: object) -> None:
        raise apsw.IOError("The vectors cannot be read.")

    monkeypatch.setattr(IndexReader, "retrieve", broken)
    found = await MemoryService(store, WordEmbedder()).retrieve_memories("note 3 about rathole")
    assert found.degraded == ("vector_search_unavailable",)
    assert set(found.results[0].provenance) == {"keyword"}
