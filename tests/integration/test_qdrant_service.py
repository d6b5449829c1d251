"""Several services on one Qdrant: real server processes, REST and MCP, and what each sees of the others."""

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from mcp import Client
from tests.contract.memories import embedded, memory
from tests.integration.conftest import Server, server_process
from tests.support.fault_proxy import fault_proxy
from tests.support.one_memory import store_one
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_target import collection_of

from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import MemoryDraft, MemoryFilter
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage, corpus_stats
from mcp_memory_service.storage.qdrant.connection import QdrantConnection


@pytest.fixture
def two_services(qdrant_url: str, tmp_path: Path) -> Generator[tuple[Server, Server], None, None]:
    settings = {
        "MCP_MEMORY_STORAGE_BACKEND": "qdrant",
        "MCP_MEMORY_QDRANT_URL": qdrant_url,
        "MCP_MEMORY_QDRANT_COLLECTION": collection_of(tmp_path),
    }
    with ExitStack() as started:
        servers: list[Server] = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            servers.append(started.enter_context(server_process(tmp_path / name, **settings)))
        yield servers[0], servers[1]


def test_what_one_service_stores_the_other_finds_at_once(two_services: tuple[Server, Server]):
    one, two = (httpx.Client(base_url=server.url, timeout=HANG_SECONDS) for server in two_services)
    with one, two:
        stored = one.post("/memories", json={"content": "Rathole forwards port 2333", "tags": ["rathole"]})
        assert stored.status_code == 201
        content_hash = stored.json()["content_hash"]
        found = two.post("/memories/retrieve", json={"query": "rathole port", "debug": True}).json()
        assert found["results"][0]["memory"]["content_hash"] == content_hash
        assert found["keywords"] == ["rathole"]
        assert found["degraded"] == []
        again = two.post("/memories", json={"content": "Rathole forwards port 2333", "tags": ["homelab"]})
        assert (again.status_code, again.json()["created"]) == (200, False)
        assert one.get(f"/memories/{content_hash}").json()["tags"] == ["rathole", "homelab"]
        assert one.post("/memories/retrieve", json={"query": "homelab"}).json()["keywords"] == ["homelab"]
        assert two.patch(f"/memories/{content_hash}", json={"tags": ["vps"]}).status_code == 200
        assert [tag["tag"] for tag in one.get("/tags").json()["tags"]] == ["vps"]
        explained = one.post("/memories/explain", json={"query": "rathole", "content_hash": content_hash})
        assert explained.status_code == 200
        assert two.delete(f"/memories/{content_hash}").status_code == 204
        assert one.get(f"/memories/{content_hash}").status_code == 404
        assert one.post("/memories/retrieve", json={"query": "rathole port"}).json()["results"] == []
        assert one.get("/stats").json()["backend"] == "qdrant"


async def test_mcp_works_over_http_on_either_service(two_services: tuple[Server, Server]):
    one, two = two_services
    async with Client(f"{one.url}/mcp") as client:
        await client.call_tool("store_memory", {"content": "Deploys go out on Tuesdays", "tags": ["process"]})
    async with Client(f"{two.url}/mcp") as client:
        found = await client.call_tool("retrieve_memory", {"query": "when do we deploy"})
        assert "Tuesdays" in str(found.content)


async def test_a_search_makes_no_more_requests_than_it_must(qdrant_url: str, tmp_path: Path):
    """A bound, so that a request in a loop is noticed; how many there are depends on the words of the query."""
    async with fault_proxy(qdrant_url) as proxy:
        overrides = {
            "storage_backend": "qdrant",
            "qdrant_url": proxy.url,
            "qdrant_collection": collection_of(tmp_path),
        }
        async with open_service(load_settings(overrides)) as service:
            drafts = [MemoryDraft(f"note {i} about the tunnel", tags=("tunnel",)) for i in range(300)]
            await service.store_batch(drafts)
            await service.retrieve_memories("where is note 7 about the tunnel")
            before = proxy.seen.total()
            await service.retrieve_memories("where is note 8 about the tunnel")
            assert proxy.seen.total() - before <= 20


async def test_a_little_trash_of_its_own_does_not_make_a_large_namespace_count_every_word(
    qdrant_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(corpus_stats, "COUNTED_EXACTLY", 100)
    options = QdrantOptions(qdrant_url, collection_of(tmp_path))
    store, connection = await QdrantStorage.open(options, "m", 4, indexed_text), QdrantConnection(options)
    notes = [memory(f"note {i}") for i in range(203)]
    await store.store_batch([embedded(note) for note in notes])

    async def is_all(namespace: str) -> bool:
        return await corpus_stats.TextStatistics(connection).of(MemoryFilter(namespace)).is_all()

    assert await is_all("default")
    await store.delete("default", notes[0].content_hash, trashed_at=5)
    assert await is_all("default")
    await store_one(store, embedded(memory("theirs", namespace="theirs")))
    assert not await is_all("default")
    await store.delete("theirs", memory("theirs").content_hash)
    for note in notes[1:4]:
        await store.delete("default", note.content_hash, trashed_at=5)
    assert not await is_all("default")
    await connection.close()
    await store.close()
