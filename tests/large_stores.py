"""A store that is large for tests of the index."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import EmbeddedMemory, Memory, MemoryFilter, content_hash
from mcp_memory_service.storage.sqlite_vec import IndexOptions, SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.index import LiveIndex, index_file
from mcp_memory_service.storage.sqlite_vec.index.format.segment_file import read_segment_file

DIMENSION = 64
MODEL_ID = "random-64"
LARGE = 60
EVERYTHING = MemoryFilter()


def item(number: int, text: str = "") -> EmbeddedMemory:
    content = text or f"note {number} about topic{number % 7}"
    vector = np.random.default_rng(number).normal(size=DIMENSION).astype(np.float32)
    memory = Memory(content, content_hash(content), number, number, tags=(f"tag{number % 3}",))
    return EmbeddedMemory(memory, (vector,))


async def large_store(folder: Path) -> Path:
    file = folder / "store.db"
    store = await SqliteVecStorage.open(file, MODEL_ID, DIMENSION, indexed_text)
    await store.store_batch([item(number) for number in range(LARGE)])
    await store.close()
    return file


async def opened(path: Path, *, min_memories: int = 50, quiet_seconds: float = 3600.0) -> SqliteVecStorage:
    options = IndexOptions(min_memories=min_memories, quiet_seconds=quiet_seconds)
    index = partial(LiveIndex, options=options)
    return await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, indexed_text, index=index)


def live(store: SqliteVecStorage) -> LiveIndex:
    assert isinstance(store.index, LiveIndex)
    return store.index


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def memories_in_file(path: Path) -> int:
    return len(read_segment_file(index_file(path)).columns["memory_ids"])


async def found_by_words(store: SqliteVecStorage, query: str) -> set[str]:
    return {hit.content_hash for hit in (await store.search_by_text(query_terms(query), 1000, EVERYTHING)).candidates}
