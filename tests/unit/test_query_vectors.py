"""A query is embedded once, whoever asks, and however often."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from tests.support.fakes import WordEmbedder

from mcp_memory_service.errors import EmbedderUnavailable
from mcp_memory_service.models import MemoryDraft, SearchRequest, Vector
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.search.cached_inputs import QueryVectors
from mcp_memory_service.storage.memory import MemoryStore


class GatedEmbedder(WordEmbedder):
    """Notes what it is asked, and answers while its gate is open."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.working = True

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        await self.gate.wait()
        if not self.working:
            raise EmbedderUnavailable("The embedding server is down.")
        return await super().embed(texts)


@pytest.fixture
def embedder() -> GatedEmbedder:
    return GatedEmbedder()


async def test_a_query_that_is_asked_again_is_not_embedded_again(embedder: GatedEmbedder):
    vectors = QueryVectors(embedder)
    first, again, other = [await vectors.vector(query) for query in ("port", "port", "tunnel")]
    assert embedder.asked == ["port", "tunnel"]
    assert np.array_equal(first, WordEmbedder.vector("port"))
    assert first is again
    assert np.array_equal(other, WordEmbedder.vector("tunnel"))
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0


async def test_the_query_that_was_asked_longest_ago_goes_first(embedder: GatedEmbedder):
    vectors = QueryVectors(embedder, limit=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        await vectors.vector(query)
    assert embedder.asked == ["a", "b", "c", "b"]


async def waiting(vectors: QueryVectors, count: int) -> list[asyncio.Task[Vector]]:
    tasks = [asyncio.create_task(vectors.vector("port")) for _ in range(count)]
    for _ in range(3):  # until all have asked
        await asyncio.sleep(0)
    return tasks


async def test_equal_queries_at_the_same_time_share_one_call(embedder: GatedEmbedder):
    embedder.gate.clear()
    tasks = await waiting(QueryVectors(embedder), 5)
    embedder.gate.set()
    found = await asyncio.gather(*tasks)
    assert embedder.asked == ["port"]
    assert all(vector is found[0] for vector in found)


async def test_who_goes_away_takes_nothing_from_the_others(embedder: GatedEmbedder):
    embedder.gate.clear()
    first, second, third = await waiting(QueryVectors(embedder), 3)
    first.cancel()
    second.cancel()
    await asyncio.wait({first, second})
    embedder.gate.set()
    assert np.array_equal(await third, WordEmbedder.vector("port"))
    assert embedder.asked == ["port"]


async def test_a_call_that_nobody_waits_for_is_given_up(embedder: GatedEmbedder):
    vectors = QueryVectors(embedder)
    embedder.gate.clear()
    tasks = await waiting(vectors, 2)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    embedder.gate.set()
    await vectors.vector("port")
    assert embedder.asked == ["port", "port"]


async def test_a_failure_is_for_those_who_wait_and_is_not_kept(embedder: GatedEmbedder):
    vectors = QueryVectors(embedder)
    embedder.gate.clear()
    embedder.working = False
    tasks = await waiting(vectors, 2)
    embedder.gate.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [EmbedderUnavailable] * 2
    embedder.working = True
    assert np.array_equal(await vectors.vector("port"), WordEmbedder.vector("port"))
    assert embedder.asked == ["port", "port"]


async def test_the_pages_of_a_search_embed_its_query_once(store: MemoryStore, embedder: GatedEmbedder):
    service = MemoryService(store, embedder)
    await service.store_batch([MemoryDraft(content=f"port {number}") for number in range(5)])
    embedder.asked.clear()
    pages = [await service.retrieve_memories("port", page, page_size=2) for page in (1, 2, 3)]
    await service.explain(SearchRequest("port"), pages[0].results[0].memory.content_hash)
    assert embedder.asked == ["port"]
    assert len({hit.memory.content for page in pages for hit in page.results}) == 5


class ChangingEmbedder(WordEmbedder):
    """A server that answers with the vectors of another model, for a while."""

    size = 3

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [vector[: self.size] for vector in await super().embed(texts)]


async def test_a_vector_that_the_store_refuses_is_not_kept(store: MemoryStore):
    embedder = ChangingEmbedder()
    service = MemoryService(store, embedder)
    embedder.size = WordEmbedder.dimension
    await service.store_memory(MemoryDraft(content="port 2333"))
    embedder.size = 3
    assert (await service.retrieve_memories("port")).degraded == ("embedder_unavailable",)
    embedder.size = WordEmbedder.dimension
    assert (await service.retrieve_memories("port")).degraded == ()
