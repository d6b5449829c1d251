"""Our engine, in a process of its own: the real service on a SQLite file, without the model; started by `run.py`.

The time of a search is that of `MemoryService.retrieve_memories`. The embedder looks up the vectors of the queries,
which the peers are given as well. Every kind of search is asked by eight at once too, the fullest by 32, each asking
again when it is answered.
"""

import asyncio
import gc
import json
import time
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from uvicorn import Config

from feed import Batch, Feed, Question, worker_arguments
from mcp_memory_service import __version__
from mcp_memory_service.bootstrap import Backends, open_backends, searcher_pool
from mcp_memory_service.config import Settings, load_settings
from mcp_memory_service.embeddings.base import Embedder
from mcp_memory_service.models import EmbeddedMemory, Memory, SearchMode, SearchRequest, Vector, content_hash
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.index import LiveIndex
from measuring import Latency, Stopwatch, disk_mb, enough, memory_mb, rss_mb, share

TOP = 10
WARM_UP = 20
AT_ONCE = (("hybrid", 8), ("hybrid", 32), ("vector", 8), ("keyword", 8))
MODES: dict[str, SearchMode] = {"hybrid": "hybrid", "vector": "semantic", "keyword": "keyword"}
CROWDED_SECONDS = 5.0
FIRST_MOMENT = 1_735_689_600_000_000  # 2025-01-01 in microseconds; a memory a second from then on, in their order
SECOND = 1_000_000


class KnownVectors:
    """An embedder that knows the vectors of the queries, under the name of the model that made them."""

    def __init__(self, embedder: Embedder, questions: Sequence[Question]) -> None:
        self.model_id = embedder.model_id
        self.dimension = embedder.dimension
        self.max_tokens = embedder.max_tokens
        self._embedder = embedder
        self._vectors = {question.text: question.vector for question in questions}

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vectors[text] for text in texts]

    async def embed_query(self, query: str) -> Vector:
        return self._vectors[query]

    async def warm_up(self) -> None:
        pass

    async def close(self) -> None:
        await self._embedder.close()


def store_path(folder: Path) -> Path:
    return folder / "memories.db"


def opened(folder: Path, questions: Sequence[Question]) -> AbstractAsyncContextManager[Backends]:
    return open_backends(_settings(folder), lambda embedder: KnownVectors(embedder, questions), with_index=True)


def _settings(folder: Path) -> Settings:
    return load_settings({"sqlite_path": store_path(folder)})


@asynccontextmanager
async def service_on(backends: Backends, folder: Path) -> AsyncGenerator[MemoryService, None]:
    """As `serve` makes it, with the processes that share its searches."""
    settings = _settings(folder)
    policy = settings.hybrid.policy(None)
    searchers = searcher_pool(settings, backends.embedder)
    try:
        yield MemoryService(backends.storage, backends.embedder, policy=policy, searchers=searchers)
    finally:
        if searchers:
            await searchers.close()


async def build(feed: Feed, folder: Path) -> dict[str, Any]:
    questions = feed.questions()
    started = time.perf_counter()
    async with opened(folder, questions) as backends:
        for batch in feed.batches():
            await backends.storage.store_batch(_memories(batch))
        stored_seconds = time.perf_counter() - started
        await backends.storage.wait_ready()
        await _until_nothing_is_due(backends.storage)
        seconds = time.perf_counter() - started
        rss = rss_mb()
    return {
        "build_seconds": seconds,
        "stored_seconds": stored_seconds,
        "rss_mb_built": rss,
        "disk_mb": disk_mb(folder),
        "versions": {"mcp-memory-service": __version__},
    }


def _memories(batch: Batch) -> list[EmbeddedMemory]:
    made: list[EmbeddedMemory] = []
    for number, (text, tags, vector) in enumerate(zip(batch.texts, batch.tags, batch.vectors, strict=True)):
        moment = FIRST_MOMENT + (batch.first + number) * SECOND
        memory = Memory(text, content_hash(text), moment, moment, tags=tuple(tags), memory_type="note")
        made.append(EmbeddedMemory(memory, (vector,)))
    return made


async def _until_nothing_is_due(storage: Store) -> None:
    """When nothing more is written, what is outside of the file of the index gets into it; until then, the builder
    takes one of the cores."""
    index = storage.index if isinstance(storage, SqliteVecStorage) else None
    while isinstance(index, LiveIndex) and index.is_worth_rebuilding:
        await asyncio.sleep(0.1)


async def ask(feed: Feed, folder: Path, queries: int, limit_seconds: float, started: float) -> dict[str, Any]:
    questions = feed.questions()
    async with opened(folder, questions) as backends, service_on(backends, folder) as service:
        first = await service.retrieve_memories(questions[-1].text)
        figures: dict[str, Any] = {"cold_start_seconds": time.monotonic() - started, "modes": {}, "found": {}}
        figures["cold_start_degraded"] = first.degraded
        await backends.storage.wait_ready()
        figures["cold_start_ready_seconds"] = time.monotonic() - started
        await _until_nothing_is_due(backends.storage)
        for name, mode in MODES.items():
            run = Run(service, mode, limit_seconds)
            await run.ask(questions[-WARM_UP:], at_once=1)
            run.results.clear()
            figures["modes"][name] = asdict(await run.ask(questions[:queries], at_once=1))
            figures["found"][name] = [_numbers(result) for result in run.results]
            figures.setdefault("degraded", 0)
            figures["degraded"] += sum(bool(result.degraded) for result in run.results)
        await _ask_at_once(service, questions, queries, limit_seconds, figures)
        gc.collect()
        figures |= memory_mb()
    return figures


async def _ask_at_once(
    service: MemoryService, questions: Sequence[Question], queries: int, limit_seconds: float, figures: dict[str, Any]
) -> None:
    figures["at_once"] = {}
    # A crowd starts the processes that share the searches: they are there before anything is measured.
    await Run(service, "hybrid", CROWDED_SECONDS).ask([*questions] * 1000, at_once=8)
    for turn, (name, number) in enumerate(AT_ONCE, start=1):
        run = Run(service, MODES[name], limit_seconds)
        latency = await run.ask(share(questions, turn, enough(queries, number)), at_once=number)
        figures["degraded"] += sum(bool(result.degraded) for result in run.results)
        if number == 8:
            figures["modes"][name]["per_second_8_at_once"] = latency.requests_per_second
        if name == "hybrid":
            figures["at_once"][str(number)] = asdict(latency)


class Run:
    """Searches in one mode and what they answered."""

    def __init__(self, service: MemoryService, mode: SearchMode, limit_seconds: float) -> None:
        self._service = service
        self._mode: SearchMode = mode
        self._limit_seconds = limit_seconds
        self.results: list[SearchResult] = []

    async def ask(self, questions: Sequence[Question], at_once: int) -> Latency:
        watch = Stopwatch(questions, self._limit_seconds)

        async def work() -> None:
            for question in watch:
                started = time.perf_counter()
                result = await self._service.search(SearchRequest(question.text, page_size=TOP, mode=self._mode))
                watch.note(time.perf_counter() - started)
                self.results.append(result)

        await asyncio.gather(*(work() for _ in range(at_once)))
        return watch.latency()


def _numbers(result: SearchResult) -> list[int]:
    """Memories by the number of their text, which is in their moment."""
    return [(hit.memory.created_at - FIRST_MOMENT) // SECOND for hit in result.results]


def run(work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """In the event loop that the server has, where there is one for the system."""
    with asyncio.Runner(loop_factory=Config("bench:none").get_loop_factory()) as runner:
        return runner.run(work)


def main() -> None:
    options = worker_arguments(__doc__)
    feed = Feed(options.feed, options.size)
    if options.phase == "build":
        figures = run(build(feed, options.folder))
    else:
        figures = run(ask(feed, options.folder, options.queries, options.seconds, options.started))
    options.out.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
