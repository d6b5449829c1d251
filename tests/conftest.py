"""What all tests share: no settings from outside, and the real model loaded once."""

import os
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.support.fakes import WordEmbedder
from tests.support.qdrant_target import QdrantTarget, dropped_collections, shared_server

from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

# How fast an example runs says how busy the machine is.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def isolated_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the developer's environment nor a .env file decides how a test ends."""
    for name in list(os.environ):
        if name.startswith("MCP_MEMORY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def local_embedder() -> LocalEmbedder:
    """The real model, loaded once for all tests."""
    return LocalEmbedder(threads=2)


@pytest.fixture(scope="session")
def qdrant_target(tmp_path_factory: pytest.TempPathFactory) -> Generator[QdrantTarget, None, None]:
    """One Qdrant for all tests, each with a collection of its own."""
    with shared_server(tmp_path_factory.mktemp("qdrant")) as target:
        yield target


@pytest.fixture(scope="session")
def qdrant_url(qdrant_target: QdrantTarget) -> str:
    return qdrant_target.url


@pytest.fixture(autouse=True)
def collections_end_with_their_test() -> Generator[None, None, None]:
    with dropped_collections():
        yield


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncGenerator[SqliteVecStorage, None]:
    opened = await SqliteVecStorage.open(
        tmp_path / "memories.db", WordEmbedder.model_id, WordEmbedder.dimension, indexed_text
    )
    yield opened
    await opened.close()


@pytest.fixture
async def store() -> MemoryStore:
    """For tests of the service: it keeps the contract of all stores, and needs no file."""
    return await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)


@pytest.fixture
def service(store: MemoryStore) -> MemoryService:
    """The whole service in memory, with an embedder that knows words but no meanings."""
    return MemoryService(store, WordEmbedder())
