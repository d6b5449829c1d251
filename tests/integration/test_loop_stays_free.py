"""Whatever one request has to work through, the others are answered meanwhile."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Sequence

import httpx
import pytest
from tests.fakes import WordEmbedder

from mcp_memory_service.api import create_app
from mcp_memory_service.config import load_settings
from mcp_memory_service.embeddings.chunks import text_chunks
from mcp_memory_service.models import Vector
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

ROUNDS = 3
"""Machines stall for a moment: one of so many rounds must go well."""


class InstantEmbedder(WordEmbedder):
    """What is measured is the rest."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self.vector("anything")] * len(texts)


@pytest.fixture
async def client(storage: SqliteVecStorage) -> AsyncGenerator[httpx.AsyncClient, None]:
    app = create_app(load_settings({}))
    app.state.service = MemoryService(storage, InstantEmbedder())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1:8000") as client:
        yield client


def long_texts(seed: int, count: int, words: int) -> list[str]:
    chance = random.Random(seed)
    known = [
        f"{a}{b}{c}" for a in ("con", "per", "de") for b in ("mit", "ser", "tain", "fin") for c in ("s", "ed", "ing")
    ]
    return [f"{number} " + " ".join(chance.choices(known, k=words)) for number in range(count)]


async def longest_wait(client: httpx.AsyncClient, request: "asyncio.Task[httpx.Response]") -> float:
    """Of all calls of /health while the request is under way."""
    longest = 0.0
    while not request.done():
        asked = time.perf_counter()
        await asyncio.sleep(0.001)  # this client and the app share the loop: let the others have it
        assert (await client.get("/health")).status_code == 200
        longest = max(longest, time.perf_counter() - asked)
    return longest


async def test_a_big_batch_does_not_keep_health_from_answering(client: httpx.AsyncClient):
    """Cutting the texts into chunks alone takes so long that nobody may wait for it."""
    waits: list[float] = []
    for seed in range(ROUNDS):
        texts = long_texts(seed, count=110, words=4000)
        started = time.perf_counter()
        for text in texts:
            text_chunks(text)
        alone = time.perf_counter() - started
        body = {"memories": [{"content": text} for text in texts]}
        request = asyncio.create_task(client.post("/memories/batch", json=body, timeout=100))
        waits.append(await longest_wait(client, request) / alone)
        assert request.result().status_code == 200
        if waits[-1] < 0.5:
            return
    pytest.fail(f"longest waits for /health, in times of cutting the texts: {waits}")


async def test_a_page_of_long_memories_that_match_everywhere_is_shown_at_once(client: httpx.AsyncClient):
    """Snippets look for the densest of tens of thousands of matches."""
    body = {"memories": [{"content": f"{number} " + "port " * 19_000} for number in range(5)]}
    assert (await client.post("/memories/batch", json=body, timeout=100)).status_code == 200
    found = await asyncio.wait_for(client.post("/memories/retrieve", json={"query": "port"}), timeout=60)
    assert len(found.json()["results"]) == 5
