"""Answers searches of one SQLite store for a service in another process (`services/search/searchers.py`).

Reads a `SearcherSetup` from standard input and then one `SearchTask` after the other, and writes their answers to
standard output, until its input ends. It imports no door, no settings and no model: the vector of a query comes along.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .errors import EmbedderUnavailable, MemoryServiceError, StoreRefused
from .hybrid_search import indexed_text
from .lru import LruCache
from .models import Vector
from .services.search.cached_inputs import MAX_NAMESPACES, CachedInputs, SharedInputs
from .services.search.results import SearchResult
from .services.search.search import Search
from .services.search.searchers import SearchTask, framed, read_frame
from .storage.ports import Store
from .storage.sqlite_vec import IndexOptions, LiveIndex, SqliteVecStorage
from .timestamps import now_microseconds

# A module that is run by its name would be there twice, and its classes would not be those that are sent.
COMMAND = (sys.executable, "-P", "-c", f"from {__name__} import run; run()")


@dataclass(frozen=True, slots=True)
class SearcherSetup:
    """What a process has to know of the service that it searches for."""

    path: Path
    model_id: str
    dimension: int | None
    on_any_filesystem: bool
    index_min_memories: int


class NoEmbedder:
    """Stands where a search would look for a model."""

    def __init__(self, model_id: str, dimension: int | None) -> None:
        self.model_id = model_id
        self.dimension = dimension
        self.max_tokens = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbedderUnavailable(f"{len(texts)} texts came without their vectors.")

    async def embed_query(self, query: str) -> Vector:
        raise EmbedderUnavailable(f"A query of {len(query)} characters came without its vector.")

    async def warm_up(self) -> None:
        pass

    async def close(self) -> None:
        pass


class Answering:
    def __init__(self, storage: Store, setup: SearcherSetup) -> None:
        self._storage = storage
        self._inputs = SharedInputs(NoEmbedder(setup.model_id, setup.dimension))
        self._by_namespace: LruCache[str, tuple[Search, int]] = LruCache(MAX_NAMESPACES)
        """With the number of writes that its tags are known to follow."""

    async def answer(self, task: SearchTask) -> SearchResult | None:
        """None where it would lack anything: the service may have it, and says what is missing if not."""
        try:
            found = await self._search(task).run(task.request, task.where, task.vector)
        except MemoryServiceError:
            return None
        return None if found.degraded else found

    def _search(self, task: SearchTask) -> Search:
        namespace = task.where.namespace
        search, writes = self._by_namespace.get(namespace) or (self._new_search(task), task.writes)
        if writes != task.writes:
            search.inputs.tags.forget()
        if search.policy != task.policy:
            search = search.with_policy(task.policy)
        self._by_namespace.put(namespace, (search, task.writes))
        return search

    def _new_search(self, task: SearchTask) -> Search:
        inputs = CachedInputs(self._storage, self._inputs, task.where.namespace, time.monotonic)
        return Search(self._storage, inputs, task.policy, now_microseconds, time.monotonic, task.zone)


async def main() -> None:
    asked, answers = await _pipes()
    setup = await read_frame(asked)
    assert isinstance(setup, SearcherSetup), "sent by the service"
    if not setup.path.is_file():  # it would be made anew
        raise StoreRefused(f"There is no store at {setup.path} any more.")
    storage = await SqliteVecStorage.open(
        setup.path,
        setup.model_id,
        setup.dimension,
        indexed_text,
        on_any_filesystem=setup.on_any_filesystem,
        index=partial(LiveIndex, options=IndexOptions(setup.index_min_memories)),
    )
    try:
        # Read ahead: a service that ends while the index is built is not waited for.
        reading = asyncio.ensure_future(read_frame(asked))
        ready = asyncio.ensure_future(storage.wait_ready())
        await asyncio.wait({reading, ready}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            answers.write(framed("ready"))
        answering = Answering(storage, setup)
        while True:
            try:
                task = await reading
            except asyncio.IncompleteReadError:
                ready.cancel()
                return
            assert isinstance(task, SearchTask), "sent by the service"
            answers.write(framed(await answering.answer(task)))
            await answers.drain()
            reading = asyncio.ensure_future(read_frame(asked))
    finally:
        await storage.close()


async def _pipes() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Standard input and output, for frames; what anything prints goes to standard error."""
    loop = asyncio.get_running_loop()
    to_service = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, to_service)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def run() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends this by ending its input
    asyncio.run(main())
