"""The backends that must keep the storage contract: a new one adds a line to BACKENDS."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.base import MemoryStorage, ServiceStorage
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

DIMENSION = 4
MODEL_ID = "contract-4"

Opener = Callable[[Path], Awaitable[ServiceStorage]]


async def open_sqlite(folder: Path) -> ServiceStorage:
    return await SqliteVecStorage.open(folder / "store.db", MODEL_ID, DIMENSION, indexed_text)


BACKENDS: dict[str, Opener] = {
    "sqlite_vec": open_sqlite,
}


@pytest.fixture(params=list(BACKENDS.values()), ids=list(BACKENDS))
def open_store(request: pytest.FixtureRequest) -> Opener:
    """Opens the store of the backend under test that lives in a folder; again and again if asked."""
    return request.param


@pytest.fixture
async def store(open_store: Opener, tmp_path: Path) -> AsyncGenerator[MemoryStorage, None]:
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()
