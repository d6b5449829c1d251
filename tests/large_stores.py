"""A store that is large for tests of the index."""

from pathlib import Path

import numpy as np

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory, Memory, MemoryFilter, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

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
