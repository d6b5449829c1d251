"""The stores that code is searched in, each empty."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from tests.support.fakes import WordEmbedder

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.sqlite_vec import IndexOptions, LiveIndex, SqliteVecStorage

StoreName: TypeAlias = Literal["memory", "sqlite", "indexed"]


@asynccontextmanager
async def opened_store(name: StoreName, folder: Path) -> AsyncGenerator[Store, None]:
    model, dimension = WordEmbedder.model_id, WordEmbedder.dimension
    if name == "memory":
        yield await MemoryStore.open(model, dimension, indexed_text)
        return
    index = partial(LiveIndex, options=IndexOptions(min_memories=50)) if name == "indexed" else None
    storage = await SqliteVecStorage.open(folder / "code.db", model, dimension, indexed_text, index=index)
    try:
        yield storage
    finally:
        await storage.close()
