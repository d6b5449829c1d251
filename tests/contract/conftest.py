"""The backends that must keep the storage contract: a new one adds a line to BACKENDS."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.indexed_store import open_indexed
from tests.support.qdrant_target import QdrantTarget, collection_of

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.memory import Contents, MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

DIMENSION = 4
MODEL_ID = "contract-4"

Opener = Callable[[Path], Awaitable[Store]]


@pytest.fixture
def open_memory() -> Opener:
    contents: defaultdict[Path, Contents] = defaultdict(Contents)
    """What a folder would hold, if the store had files."""

    async def open_contents(folder: Path) -> Store:
        return await MemoryStore.open(MODEL_ID, DIMENSION, indexed_text, contents[folder])

    return open_contents


@pytest.fixture
def open_sqlite_vec() -> Opener:
    async def open_file(folder: Path) -> Store:
        return await SqliteVecStorage.open(folder / "store.db", MODEL_ID, DIMENSION, indexed_text)

    return open_file


@pytest.fixture
def open_sqlite_vec_indexed() -> Opener:
    async def open_file(folder: Path) -> Store:
        return await open_indexed(folder / "store.db", MODEL_ID, DIMENSION)

    return open_file


@pytest.fixture
def open_qdrant(qdrant_url: str) -> Opener:
    async def open_collection(folder: Path) -> Store:
        options = QdrantOptions(qdrant_url, collection_of(folder))
        return await QdrantStorage.open(options, MODEL_ID, DIMENSION, indexed_text)

    return open_collection


@pytest.fixture
def open_qdrant_grpc(qdrant_target: QdrantTarget) -> Opener:
    async def open_collection(folder: Path) -> Store:
        options = QdrantOptions(qdrant_target.url, collection_of(folder), grpc=True, grpc_port=qdrant_target.grpc_port)
        return await QdrantStorage.open(options, MODEL_ID, DIMENSION, indexed_text)

    return open_collection


BACKENDS = ("memory", "sqlite_vec", "sqlite_vec_indexed", "qdrant", "qdrant_grpc")


@pytest.fixture(params=BACKENDS)
def open_store(request: pytest.FixtureRequest) -> Opener:
    """Opens the store of the backend under test that lives in a folder; again and again if asked."""
    return request.getfixturevalue(f"open_{request.param}")


@pytest.fixture
async def store(open_store: Opener, tmp_path: Path) -> AsyncGenerator[Store, None]:
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()
