"""Searches that are shared out to processes: the same answers, nothing missed, and nobody left waiting."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.support.fakes import WordEmbedder
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.hybrid_search import RankingPolicy, indexed_text
from mcp_memory_service.models import MemoryDraft, SearchRequest
from mcp_memory_service.searcher_process import COMMAND, SearcherSetup
from mcp_memory_service.services import MemoryService, PoolLimits, Reranking, SearcherPool, SearchResult
from mcp_memory_service.storage.sqlite_vec import IndexOptions, LiveIndex, SqliteVecStorage

BIRDS = ("kestrel", "heron", "wren", "siskin", "plover")
POLICY = RankingPolicy(recency_decay=0.0)  # or answers would differ by when they were given
LIMITS = PoolLimits(max_processes=1, crowd=2, answer_seconds=HANG_SECONDS)


@asynccontextmanager
async def shared_service(
    path: Path,
    limits: PoolLimits = LIMITS,
    *,
    min_memories: int = 50,
    command: Sequence[str] = COMMAND,
    reranking: Reranking | None = None,
) -> AsyncGenerator[tuple[MemoryService, SearcherPool], None]:
    """With an index in a file, unless `min_memories` is more than there are."""
    store = await SqliteVecStorage.open(
        path,
        WordEmbedder.model_id,
        WordEmbedder.dimension,
        indexed_text,
        index=partial(LiveIndex, options=IndexOptions(min_memories)),
    )
    setup = SearcherSetup(path, WordEmbedder.model_id, WordEmbedder.dimension, False, min_memories)
    pool = SearcherPool(command, setup, limits)
    try:
        service = MemoryService(store, WordEmbedder(), POLICY, searchers=pool, reranking=reranking)
        await service.store_batch(
            [MemoryDraft(f"note {number} of a {BIRDS[number % 5]}", (BIRDS[number % 5],)) for number in range(100)]
        )
        await store.wait_ready()
        yield service, pool
    finally:
        await pool.close()
        await store.close()


async def crowd(
    service: MemoryService, query: str = "a heron", searches: int = 6, *, rerank: bool | None = None
) -> list[SearchResult]:
    return await asyncio.gather(*(service.search(SearchRequest(query, rerank=rerank)) for _ in range(searches)))


async def until(is_so: Callable[[], bool], meanwhile: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not is_so():
            await meanwhile()
            await asyncio.sleep(0.01)


async def started(service: MemoryService, pool: SearcherPool, *, rerank: bool | None = None) -> int:
    await until(lambda: bool(pool.processes), lambda: crowd(service, rerank=rerank))
    return pool.processes[0]


def timeless(result: SearchResult) -> SearchResult:
    return replace(result, took_ms=0.0)


@pytest.mark.parametrize("min_memories", [50, 1_000])
async def test_a_process_answers_as_the_service_itself_does(tmp_path: Path, min_memories: int):
    async with shared_service(tmp_path / "store.db", min_memories=min_memories) as (service, pool):
        requests = [SearchRequest(f"{number} {bird} note") for number, bird in enumerate(BIRDS)]
        requests.append(SearchRequest("heron", tags=("heron",), page=2, page_size=3, debug=True))
        requests.append(SearchRequest("plover", mode="keyword"))
        here = [timeless(await service.search(request)) for request in requests]
        assert pool.processes == []
        await started(service, pool)
        there = [timeless(await service.search(request)) for request in requests]  # of equals, the process comes first
        assert there == here


async def test_what_was_written_is_found_by_the_next_search_of_a_process(tmp_path: Path):
    async with shared_service(tmp_path / "store.db") as (service, pool):
        await started(service, pool)
        for number in range(20):
            stored = await service.store_memory(MemoryDraft(f"osprey {number}", tags=(f"osprey-{number}",)))
            found = await service.search(SearchRequest(f"osprey-{number}"))
            assert found.results[0].memory == stored.memory
            assert f"osprey-{number}" in found.keywords
            await service.delete_memory(stored.memory.content_hash)
            found = await service.search(SearchRequest(f"osprey-{number}"))
            assert stored.memory.content_hash not in [hit.memory.content_hash for hit in found.results]


async def test_searches_go_on_when_a_process_is_killed(tmp_path: Path):
    async with shared_service(tmp_path / "store.db") as (service, pool):
        process = await started(service, pool)
        searches = asyncio.create_task(crowd(service, searches=50))
        await asyncio.sleep(0)
        os.kill(process, signal.SIGKILL)
        answers = await searches
        assert answers[0].results
        assert all(timeless(answer) == timeless(answers[0]) for answer in answers)
        await until(lambda: process not in pool.processes, lambda: crowd(service, searches=1))


async def test_searches_go_on_when_a_process_hangs(tmp_path: Path):
    async with shared_service(tmp_path / "store.db", replace(LIMITS, answer_seconds=0.2)) as (service, pool):
        process = await started(service, pool)
        os.kill(process, signal.SIGSTOP)
        answers = await crowd(service, searches=10)
        assert all(timeless(answer) == timeless(answers[0]) for answer in answers)


async def test_a_process_ends_when_it_is_not_needed(tmp_path: Path):
    async with shared_service(tmp_path / "store.db", replace(LIMITS, quiet_seconds=0.2)) as (service, pool):
        await started(service, pool)
        await until(lambda: not pool.processes, lambda: asyncio.sleep(0.05))
        assert (await crowd(service))[0].results


async def test_what_cannot_be_started_is_not_needed(tmp_path: Path):
    async with shared_service(tmp_path / "store.db", command=("/nowhere/python",)) as (service, pool):
        for _ in range(3):
            assert all(answer.results for answer in await crowd(service))
        assert pool.processes == []


async def test_a_closed_pool_leaves_no_process(tmp_path: Path):
    async with shared_service(tmp_path / "store.db") as (service, pool):
        process = await started(service, pool)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
