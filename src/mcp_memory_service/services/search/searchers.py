"""Searches of one service shared out to processes of their own (ADR 15).

A search is a few thousand short steps that hold Python's lock: threads only hand it to each other. So when several
searches are under way at once, further processes on the same store answer some of them; who asks cannot tell which did.
What a process cannot answer exactly as this one would, this one answers.
"""

import asyncio
import logging
import os
import pickle
import struct
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import tzinfo

from ...backoff import backoff
from ...hybrid_search import RankingPolicy
from ...models import MemoryFilter, SearchRequest
from .query import Missing, QueryVector
from .results import SearchResult
from .search import Search

logger = logging.getLogger(__name__)

READY_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 5.0
MAX_PAUSE_SECONDS = 600.0
"""After a failure no process is started for so long, twice as long each time."""
STOP_SECONDS = 2.0

FRAME = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class PoolLimits:
    max_processes: int
    crowd: int = 4
    """So many searches at once start a process: an agent that asks two things at a time does not."""
    quiet_seconds: float = 60.0
    """A process that was not needed for so long is ended, and its memory is free."""
    answer_seconds: float = 10.0
    """A process that takes longer is ended, and what it was asked is answered here."""


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What a process is asked."""

    request: SearchRequest
    where: MemoryFilter
    vector: QueryVector | None
    writes: int
    """Of this service, so far: when it has grown, what the process knows of the tags is outdated."""
    policy: RankingPolicy
    """As it is tuned for the namespace."""
    zone: tzinfo
    """In which the dates of the query are read."""


def framed(value: object) -> bytes:
    payload = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return FRAME.pack(len(payload)) + payload


async def read_frame(stream: asyncio.StreamReader) -> object:
    """asyncio.IncompleteReadError at the end."""
    (size,) = FRAME.unpack(await stream.readexactly(FRAME.size))
    return pickle.loads(await stream.readexactly(size))  # noqa: S301 - from a process of ours, over a pipe of its own


class SearcherPool:
    """Starts processes when searches crowd, and ends them when it is quiet."""

    def __init__(self, command: Sequence[str], setup: object, limits: PoolLimits) -> None:
        self._command = command
        self._setup = framed(setup)
        self._limits = limits
        self._ready: list[_Searcher] = []
        self._running: set[asyncio.Task[None]] = set()
        self._here = 0
        self._pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        self._no_start_before = 0.0

    @property
    def processes(self) -> list[int]:
        """Which processes answer searches beside this one."""
        return [searcher.pid for searcher in self._ready]

    async def run(self, search: Search, request: SearchRequest, where: MemoryFilter) -> SearchResult:
        """One page, from whoever has least to do."""
        searcher = self._least_busy() if self._ready else None
        if searcher is not None:
            started = time.monotonic()
            vector = await search.query_vector(request, where)
            if not isinstance(vector, Missing):
                task = SearchTask(request, where, vector, search.inputs.tags.writes, search.policy, search.zone)
                answer = await searcher.ask(task)
                if answer is not None:
                    return replace(answer, took_ms=round((time.monotonic() - started) * 1000, 3))
        self._here += 1
        try:
            if self._here >= self._limits.crowd:
                self._start_another()
            return await search.run(request, where)
        finally:
            self._here -= 1

    async def close(self) -> None:
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    def _least_busy(self) -> "_Searcher | None":
        """None if that is this process, which has the doors to serve as well: of equals it comes last."""
        searcher = min(self._ready, key=_Searcher.load)
        return searcher if searcher.load() <= self._here else None

    def _start_another(self) -> None:
        if len(self._running) < self._limits.max_processes and time.monotonic() >= self._no_start_before:
            task = asyncio.create_task(self._attended())
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _attended(self) -> None:
        """A process from its start to its end."""
        searcher: _Searcher | None = None
        try:
            searcher = await _Searcher.start(self._command, self._setup, self._limits.answer_seconds)
            self._ready.append(searcher)
            await searcher.answer_until_quiet(self._limits.quiet_seconds)
            self._pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        except (OSError, EOFError, TimeoutError, pickle.UnpicklingError) as error:
            self._no_start_before = time.monotonic() + next(self._pauses)
            logger.warning("A search process ended, and is started again when it is needed: %r", error)
        finally:
            if searcher is not None:
                if searcher in self._ready:
                    self._ready.remove(searcher)
                await searcher.stop()


class _Searcher:
    """A process that answers in the order asked."""

    def __init__(self, process: asyncio.subprocess.Process, answer_seconds: float) -> None:
        assert process.stdin is not None, "it was started with pipes"
        assert process.stdout is not None, "it was started with pipes"
        self._process = process
        self._answer_seconds = answer_seconds
        self.pid = process.pid
        self._to, self._from = process.stdin, process.stdout
        self._asked: deque[asyncio.Future[SearchResult | None]] = deque()

    @classmethod
    async def start(cls, command: Sequence[str], setup: bytes, answer_seconds: float) -> "_Searcher":
        """Returns when it is ready to answer."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
        searcher = cls(process, answer_seconds)
        try:
            searcher._to.write(setup)
            async with asyncio.timeout(READY_SECONDS):
                await read_frame(searcher._from)
        except BaseException:
            await searcher.stop()
            raise
        return searcher

    def load(self) -> int:
        """How many wait for its answer."""
        return len(self._asked)

    async def ask(self, task: SearchTask) -> SearchResult | None:
        """None if it cannot answer, or not as well as this process may."""
        if self._to.is_closing():  # it has ended since it was chosen: nobody would hand out its answer
            return None
        answer: asyncio.Future[SearchResult | None] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        try:
            self._to.write(framed(task))
            async with asyncio.timeout(self._answer_seconds):
                return await answer
        except OSError:  # it has ended or, with TimeoutError, hangs; who attends to it is told by its end
            with suppress(ProcessLookupError):
                self._process.kill()
            return None

    async def answer_until_quiet(self, quiet_seconds: float) -> None:
        """Hand out its answers. EOFError if it ends."""
        while True:
            reading = asyncio.ensure_future(read_frame(self._from))
            try:
                # Not cut off half-way through an answer: the next one would begin in its middle.
                while not (await asyncio.wait({reading}, timeout=quiet_seconds))[0]:
                    if not self._asked:
                        return
            finally:
                reading.cancel()
            answer = reading.result()  # first: if it has ended, everybody who asked is told so by `stop`
            waiting = self._asked.popleft()
            if not waiting.done():  # who asked may have gone
                waiting.set_result(answer if isinstance(answer, SearchResult) else None)

    async def stop(self) -> None:
        """At the end of its input it ends by itself."""
        while self._asked:
            waiting = self._asked.popleft()
            if not waiting.done():
                waiting.set_result(None)
        self._to.close()
        with suppress(ProcessLookupError):
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await self._process.wait()
            except (TimeoutError, asyncio.CancelledError):
                self._process.kill()
                await self._process.wait()
