"""Keeps the index of a store ready in the background: loads it, has it built, and has it built anew when it is due."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import apsw

from .....backoff import backoff
from .....errors import MemoryServiceError, StorageUnavailable
from .....malloc import keep_memory_of_arrays, return_unused_memory
from ...file.connections import ConnectionPool
from ...schema import pinned_embedding
from ..build.build import columns_of_rows
from ..format.segment_file import SegmentData, Unusable, index_file, read_segment_file
from ..query.reader import IndexReader
from ..source import IS_INDEXED, Position, follows, newest_position
from .catch_up import CurrentIndex
from .segments import Segments

BUILDER = "mcp_memory_service.storage.sqlite_vec.index.build.build_process"

FIRST_PAUSE_SECONDS = 60.0
MAX_PAUSE_SECONDS = 3_600.0
"""After a failure, twice as long each time: a full disk may stay full."""
CHECKED_EVERY_SECONDS = 5.0

BUILDING = "index_building"
UNAVAILABLE = "index_unavailable"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexOptions:
    min_memories: int = 2_000
    """Stores with fewer have their index in memory alone, made by each process for itself in a fraction of a second."""
    quiet_seconds: float = 30.0
    """After so long without a write, the file of the index is built anew if enough memories are outside of it."""


class SearchIndex(Protocol):
    """What a store asks of its index."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why searches are slow, if they are."""
        ...

    @property
    def searches_are_brief(self) -> bool:
        """Whether one thread can do all of a search in a few milliseconds: from the index, or from few rows."""
        ...

    def reader_for(self, connection: apsw.Connection) -> IndexReader | None:
        """The index as of the connection's transaction, in which nothing was read yet; None if it cannot be had."""
        ...

    async def wait_ready(self) -> None:
        """Return when nothing is left to load, build or catch up with; as long as that fails, it does not.
        StorageUnavailable if the store is closed."""
        ...

    def build_again(self) -> None:
        """What its file held must be forgotten; from any thread."""
        ...

    async def close(self) -> None: ...


IndexFactory: TypeAlias = Callable[[ConnectionPool, str], SearchIndex]
"""Makes the index of a store from its connections and the id of its embedding model."""


class LiveIndex:
    """Made in the event loop that will close it."""

    def __init__(self, connections: ConnectionPool, model_id: str, options: IndexOptions) -> None:
        self._path = connections.path
        self._model_id = model_id
        self._connections = connections
        self._options = options
        self._current = CurrentIndex(self._notify)
        self.reader_for = self._current.reader_for
        self._loop = asyncio.get_running_loop()
        self._due = asyncio.Event()
        self._due.set()
        self._ready = asyncio.Event()
        self._must_build = False
        self._store_is_small = False
        self._last_position: Position | None = None
        self._unchanged_since = 0.0
        self._no_renewal_before = 0.0
        self._renewal_pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        self.degraded: tuple[str, ...] = ()
        keep_memory_of_arrays()
        self._task = asyncio.create_task(self._keep_ready())

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._ready.set()  # nobody is left waiting

    @property
    def is_in_use(self) -> bool:
        """Whether searches are answered from it."""
        return self._current.reader is not None

    @property
    def searches_are_brief(self) -> bool:
        return self._current.reader is not None or self._store_is_small

    @property
    def is_worth_rebuilding(self) -> bool:
        """Whether its file will be built anew, at the latest when nobody has written for a while."""
        return self._current.segments is not None and self._current.segments.is_worth_rebuilding

    async def wait_ready(self) -> None:
        self._ready.clear()
        self._due.set()
        if not self._task.done():
            await self._ready.wait()
        if self._task.done():
            raise StorageUnavailable("The store is closed.")

    def build_again(self) -> None:
        self._must_build = True
        self._wake()

    def _notify(self, rows_are_searched: bool) -> None:
        if rows_are_searched:
            self.degraded = (BUILDING,)
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed, and so is the store
            self._loop.call_soon_threadsafe(self._due.set)

    async def _keep_ready(self) -> None:
        pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        while True:
            # Others may have made a small store a large one. Not by wait_for, which before Python 3.12 loses the end of
            # this task if it comes with the event.
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECKED_EVERY_SECONDS):
                    await self._due.wait()
            self._due.clear()
            await asyncio.to_thread(return_unused_memory)
            try:
                await self._make_ready()
                pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
                if not self._due.is_set():  # else more has become due meanwhile
                    self._ready.set()
            except Exception as error:  # whatever it is, searches go on without it, and say so
                logger.warning("The search index is not ready: %s", error, exc_info=not _is_expected(error))
                self.degraded = () if self.is_in_use else (UNAVAILABLE,)
                await asyncio.sleep(next(pauses))
                self._due.set()

    async def _make_ready(self) -> None:
        current = self._current
        if not await self._connections.read(current.still_follows):
            current.forget()
        self._store_is_small = await self._connections.read(self._is_small)
        outgrown = current.segments is not None and current.segments.in_memory and not self._store_is_small
        will_be_replaced = outgrown and self._loop.time() >= self._no_renewal_before
        if current.segments is not None and not will_be_replaced:
            await self._catch_up(current.segments)
        if current.segments is None:
            if self._store_is_small or not await self._connections.read(_can_be_indexed):
                self.degraded = ()
                await self._keep_in_memory()
                return
            self.degraded = (BUILDING,)
            await self._catch_up(await self._loaded() or await self._built())
        if current.segments is not None and self._is_renewal_due(current.segments, outgrown=outgrown):
            await self._renew()

    async def _keep_in_memory(self) -> None:
        """The index of a small store; there is none of an empty one, or where nobody has said yet how long vectors
        are."""
        self._must_build = False
        data = await self._connections.read(_columns_in_memory)
        if data is None:
            self._current.forget()
        else:
            await self._catch_up(await asyncio.to_thread(Segments, data))

    def _is_renewal_due(self, segments: Segments, *, outgrown: bool) -> bool:
        """When it must be, when much is outside of the file, or when nobody has written for a while."""
        now = self._loop.time()
        if segments.position != self._last_position:
            self._last_position, self._unchanged_since = segments.position, now
        is_quiet = now - self._unchanged_since >= self._options.quiet_seconds
        must_be = self._must_build or outgrown or segments.needs_rebuild
        is_due = must_be or (is_quiet and segments.is_worth_rebuilding)
        return is_due and now >= self._no_renewal_before

    async def _renew(self) -> None:
        """Have a new file built, or none if the store is small. Without one, what there is stays in use."""
        if self._store_is_small:
            await self._keep_in_memory()
            return
        must_build = self._must_build
        try:
            await self._catch_up(await self._built())
        except Exception as error:  # whatever it is, this index is still right
            logger.warning("The search index is not built anew: %s", error, exc_info=not _is_expected(error))
            self._must_build |= must_build
            self._no_renewal_before = self._loop.time() + next(self._renewal_pauses)
        else:
            self._renewal_pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)

    async def _catch_up(self, segments: Segments) -> None:
        while await self._connections.read(lambda connection: self._current.apply_some(connection, segments)):
            pass
        self.degraded = ()

    def _is_small(self, connection: apsw.Connection) -> bool:
        counted = "SELECT count(*) FROM (SELECT 1 FROM memories LIMIT ?)"
        return int(connection.execute(counted, (self._options.min_memories,)).get) < self._options.min_memories

    async def _loaded(self) -> Segments | None:
        """From the file, if it is whole and of this store; what has changed since is applied later."""
        try:
            file = await asyncio.to_thread(read_segment_file, index_file(self._path))
        except Unusable as error:
            logger.info("There is no search index to load: %s", error)
            return None
        header = file.header
        if header.model_id != self._model_id:
            return None
        if not await self._connections.read(lambda connection: follows(connection, header.position)):
            return None
        return await asyncio.to_thread(Segments, file)

    async def _built(self) -> Segments:
        self._must_build = False
        await self._run_builder(await self._connections.read(newest_position))
        segments = await self._loaded()
        if segments is None:
            raise StorageUnavailable(f"The search index of {self._path} is not usable after it was built.")
        return segments

    async def _run_builder(self, least: Position) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # no code from the folder we happen to be started in
            "-m",
            BUILDER,
            str(self._path),
            str(least.sequence),
            stdin=asyncio.subprocess.PIPE,  # open for as long as this process lives, and the builder no longer
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # Threads of its own would take the cores from searches.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
        assert process.stderr is not None, "it was started with pipes"
        try:
            errors = await process.stderr.read()
            await process.wait()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        if process.returncode:
            last = errors.decode(errors="replace").strip().rpartition("\n")[2] or f"it ended with {process.returncode}"
            raise StorageUnavailable(f"The search index of {self._path} cannot be built: {last}")


def _columns_in_memory(connection: apsw.Connection) -> SegmentData | None:
    return columns_of_rows(connection, exact=True) if _can_be_indexed(connection) else None


def _can_be_indexed(connection: apsw.Connection) -> bool:
    """The length of vectors comes with the first of them, if not with the model."""
    has_some = connection.execute(f"SELECT 1 FROM namespaces m WHERE {IS_INDEXED} LIMIT 1").get  # noqa: S608
    return has_some is not None and pinned_embedding(connection)[1] is not None


def _is_expected(error: Exception) -> bool:
    return isinstance(error, MemoryServiceError | OSError)
