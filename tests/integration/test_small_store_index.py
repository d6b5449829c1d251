"""A small store has its index in memory alone: the same answers as from its rows, and a file when it has grown."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from tests.large_stores import (
    EVERYTHING,
    LARGE,
    MODEL_ID,
    found_by_words,
    item,
    large_store,
    live,
    memories_in_file,
    opened,
)
from tests.support.one_memory import store_one
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.index import index_file


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await large_store(tmp_path)


async def test_a_small_store_has_its_index_in_memory_alone(tmp_path: Path):
    store = await opened(tmp_path / "store.db", min_memories=2)
    await store_one(store, item(1))
    await store.wait_ready()
    assert live(store).is_in_use
    assert (store.degraded, index_file(tmp_path / "store.db").exists()) == ((), False)
    await store_one(store, item(2))
    await store.wait_ready()
    assert live(store).is_in_use
    assert memories_in_file(tmp_path / "store.db") == 2
    await store.close()


async def test_an_index_in_memory_finds_what_the_rows_have(path: Path):
    store, rows = await opened(path, min_memories=1000), await SqliteVecStorage.open(path, MODEL_ID, 64, indexed_text)
    await store.wait_ready()
    assert live(store).is_in_use
    assert not index_file(path).exists()
    new, gone = item(1000, "a kestrel above the field"), item(0).memory
    await store_one(rows, new)
    await rows.delete("default", gone.content_hash)
    assert await found_by_words(store, "kestrel") == {new.memory.content_hash}
    for number in (0, 3, 17, 1000):
        query = item(number).vectors[0] * np.float32(number + 0.3)
        one, other = [await each.retrieve(query, 1000, EVERYTHING) for each in (store, rows)]
        assert list(one) == list(other)
    terms = query_terms("note about topic3 kestrel")
    assert await store.search_by_text(terms, 1000, EVERYTHING) == await rows.search_by_text(terms, 1000, EVERYTHING)
    assert live(store).is_in_use
    await rows.close()
    await store.close()


async def test_a_store_that_has_become_large_is_searched_in_memory_until_its_file_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mcp_memory_service.storage.sqlite_vec.index.live.lifecycle.CHECKED_EVERY_SECONDS", 0.05)
    store = await opened(path, min_memories=LARGE + 1)
    await store.wait_ready()
    await store_one(store, item(1000))
    seen: set[tuple[bool, tuple[str, ...]]] = set()
    async with asyncio.timeout(HANG_SECONDS):
        while not index_file(path).exists():
            assert len(await found_by_words(store, "note")) == LARGE + 1
            seen.add((live(store).is_in_use, store.degraded))
            await asyncio.sleep(0.01)
    await store.wait_ready()
    assert seen <= {(True, ())}
    assert memories_in_file(path) == LARGE + 1
    await store.close()


async def test_what_is_purged_from_a_small_store_is_not_in_its_index(path: Path):
    store = await opened(path, min_memories=1000)
    await store.wait_ready()
    await store.purge("default", [item(0).memory.content_hash])
    await store.wait_ready()
    assert live(store).is_in_use
    assert len(await found_by_words(store, "note")) == LARGE - 1
    await store.close()
