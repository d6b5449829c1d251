"""Whatever one request has to work through, the others are answered meanwhile."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Sequence

import httpx
import pytest
from tests.support.fakes import WordEmbedder
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.api import create_app
from mcp_memory_service.config import load_settings
from mcp_memory_service.embeddings.chunks import text_chunks
from mcp_memory_service.models import Vector
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage


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


async def longest_hold(client: httpx.AsyncClient, request: "asyncio.Task[httpx.Response]") -> float:
    """CPU seconds of this thread, which runs the loop, between two answers of /health while the request is under way.
    What other threads and processes take does not count: it would tell how busy the machine is."""
    longest = 0.0
    while not request.done():
        asked = time.thread_time()
        await asyncio.sleep(0.001)  # this client and the app share the loop: let the others have it
        assert (await client.get("/health")).status_code == 200
        longest = max(longest, time.thread_time() - asked)
    return longest


async def test_a_big_batch_does_not_keep_health_from_answering(client: httpx.AsyncClient):
    """Cutting the texts into chunks alone takes so long that nobody may wait for it."""
    texts = long_texts(seed=1, count=110, words=4000)
    started = time.thread_time()
    for text in texts:
        text_chunks(text)
    alone = time.thread_time() - started
    body = {"memories": [{"content": text} for text in texts]}
    request = asyncio.create_task(client.post("/memories/batch", json=body))
    assert await longest_hold(client, request) < 0.5 * alone
    assert request.result().status_code == 200


async def test_a_page_of_long_memories_that_match_everywhere_is_shown_at_once(client: httpx.AsyncClient):
    """Snippets look for the densest of tens of thousands of matches."""
    body = {"memories": [{"content": f"{number} " + "port " * 19_000} for number in range(5)]}
    assert (await client.post("/memories/batch", json=body)).status_code == 200
    found = await asyncio.wait_for(client.post("/memories/retrieve", json={"query": "port"}), timeout=HANG_SECONDS)
    assert len(found.json()["results"]) == 5
