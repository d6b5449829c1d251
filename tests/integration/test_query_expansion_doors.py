"""Query expansion through REST, the command line, MCP, processes that share the searches, and Qdrant."""

import asyncio
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from starlette.testclient import TestClient
from tests.integration.conftest import Finished, rest_client
from tests.support.fakes import MeaningEmbedder
from tests.support.mcp_answers import good_text
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_target import collection_of

from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.hybrid_search import RankingPolicy, indexed_text
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.models import MemoryDraft, SearchRequest
from mcp_memory_service.searcher_process import COMMAND, SearcherSetup
from mcp_memory_service.services import MemoryService, PoolLimits, SearcherPool
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.sqlite_vec import IndexOptions, LiveIndex, SqliteVecStorage

NOTES = [
    "The relay has a latency of 40 ms and a timeout of 5 s",
    "Latency of the gateway doubled, the timeout was raised",
    "Backups run at night; the gateway is idle then",
    "Invoices are sent at the end of the month",
    "Invoices above the limit need a second signature",
]
ASKED = {"query": "why is everything so slow", "debug": True}


def store_notes(rest: TestClient) -> None:
    assert rest.post("/memories/batch", json={"memories": [{"content": note} for note in NOTES]}).is_success


def searched_until_expanded(rest: TestClient) -> dict[str, Any]:
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline:
        found = rest.post("/memories/retrieve", json=ASKED).json()
        assert found["degraded"] == [], "that it is not there yet is nothing to warn of"
        if "expanded_with" in found:
            return found
        time.sleep(0.02)
    raise AssertionError("there is no vocabulary")


def test_a_service_makes_the_vocabulary_and_the_command_line_uses_it(tmp_path: Path, run_cli: Callable[..., Finished]):
    path = tmp_path / "expanded.db"
    with rest_client(path, query_expansion=True) as rest:
        store_notes(rest)
        found = searched_until_expanded(rest)
        first = found["results"][0]
        asked = {"query": ASKED["query"], "content_hash": first["memory"]["content_hash"]}
        explained = rest.post("/memories/explain", json=asked).json()
        assert explained["expanded_with"] == first["debug"]["expanded_with"] == found["expanded_with"]
        assert set(found["expanded_with"]) == {"latency", "timeout", "gateway"}
    environment = {"MCP_MEMORY_SQLITE_PATH": str(path), "MCP_MEMORY_QUERY_EXPANSION": "true"}
    said = run_cli("search", ASKED["query"], **environment)
    line = f"Expanded with: {', '.join(found['expanded_with'])}"
    assert line in said.out.splitlines(), said.err
    shown = json.loads(run_cli("search", ASKED["query"], "--json", **environment).out)
    assert shown["expanded_with"] == found["expanded_with"]
    why = run_cli("search", ASKED["query"], "--explain", first["memory"]["content_hash"], **environment)
    assert f"  {line}" in why.out.splitlines()
    assert "Expanded" not in run_cli("search", ASKED["query"], MCP_MEMORY_SQLITE_PATH=str(path)).out
    purged = run_cli("purge", first["memory"]["content_hash"], MCP_MEMORY_SQLITE_PATH=str(path))
    assert purged.code == 0, purged.err
    assert not list(tmp_path.glob("*concepts*")), "also if queries are not expanded any more"


def test_queries_are_not_expanded_unless_that_is_asked_for(rest: TestClient, tmp_path: Path):
    store_notes(rest)
    found = rest.post("/memories/retrieve", json=ASKED).json()
    assert "expanded_with" not in found
    assert "expanded_with" not in found["results"][0]["debug"]
    assert not list(tmp_path.glob("*concepts*"))


async def test_a_model_reads_what_was_added_if_something_was(store: MemoryStore):
    service = MemoryService(store, MeaningEmbedder(["slow", "latency"]), RankingPolicy(query_expansion=True))
    await service.store_batch([MemoryDraft(note) for note in NOTES])
    async with Client(build_mcp_server(service, 5_000)) as client:
        before = good_text(await client.call_tool("retrieve_memory", {"query": "slow"}))
        assert "Expanded" not in before
        await service.prepare_expansion()
        terms = " ".join((await service.search(SearchRequest("slow"))).expanded_with)
        assert "latency" in terms
        assert f"Expanded with: {terms}." in good_text(await client.call_tool("retrieve_memory", {"query": "slow"}))


async def test_a_process_that_shares_the_searches_answers_with_the_same_terms(tmp_path: Path):
    path, embedder = tmp_path / "store.db", MeaningEmbedder(["slow", "latency"])
    setup = SearcherSetup(path, embedder.model_id, embedder.dimension, False, 1_000)
    pool = SearcherPool(COMMAND, setup, PoolLimits(1, crowd=2, answer_seconds=HANG_SECONDS))
    store = await SqliteVecStorage.open(
        path,
        embedder.model_id,
        embedder.dimension,
        indexed_text,
        index=partial(LiveIndex, options=IndexOptions(1_000)),
    )
    try:
        service = MemoryService(store, embedder, RankingPolicy(query_expansion=True), searchers=pool)
        await service.store_batch([MemoryDraft(note) for note in NOTES])
        await service.prepare_expansion()
        request = SearchRequest("slow", debug=True)
        here = await service.search(request)
        async with asyncio.timeout(HANG_SECONDS):
            while not pool.processes:
                await asyncio.gather(*(service.search(request) for _ in range(4)))
                await asyncio.sleep(0.01)
        there = await service.search(request)  # of equals, the process comes first
    finally:
        await pool.close()
        await store.close()
    assert "latency" in here.expanded_with
    assert there.expanded_with == here.expanded_with
    assert [hit.similarity for hit in there.results] == pytest.approx([hit.similarity for hit in here.results])


async def test_on_qdrant_the_vocabulary_is_kept_in_memory(qdrant_url: str, tmp_path: Path):
    chosen = {"storage_backend": "qdrant", "qdrant_url": qdrant_url, "qdrant_collection": collection_of(tmp_path)}
    async with open_service(load_settings({**chosen, "query_expansion": True})) as service:
        await service.store_batch([MemoryDraft(note) for note in NOTES])
        await service.prepare_expansion()
        found = await service.search(SearchRequest("why is everything so slow"))
    assert set(found.expanded_with) == {"latency", "timeout", "gateway"}
    assert not list(tmp_path.glob("**/*concepts*"))
