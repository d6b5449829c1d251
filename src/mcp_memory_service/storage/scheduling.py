"""How the reads of a search are done: at the same time in the event loop, or one after the other by one thread."""

import asyncio
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from .ports import SearchReads, SearchWork, Snapshot

T = TypeVar("T")


class Concurrent:
    """For reads that wait: all are under way at once, and none outlives the search."""

    def __init__(self) -> None:
        self._started: list[asyncio.Task[Any]] = []

    async def run(self, reads: SearchReads, work: SearchWork[T]) -> T:
        try:
            return await work(Snapshot(reads, self.start))
        finally:
            for task in self._started:
                task.cancel()

    def start(self, read: Coroutine[Any, Any, T]) -> Awaitable[T]:
        task = asyncio.ensure_future(read)
        self._started.append(task)
        return task


class Inline:
    """For reads that wait for nothing, in a thread without an event loop: each is done when it is first awaited."""

    def __init__(self) -> None:
        self._started: list[Coroutine[Any, Any, Any]] = []

    def run(self, reads: SearchReads, work: SearchWork[T]) -> T:
        try:
            return run_without_loop(work(Snapshot(reads, self.start)))
        finally:
            for read in self._started:
                read.close()

    def start(self, read: Coroutine[Any, Any, T]) -> Awaitable[T]:
        self._started.append(read)
        return _Lazy(read)


class _Lazy(Generic[T]):
    """May be awaited any number of times; what it raised is raised every time."""

    def __init__(self, read: Coroutine[Any, Any, T]) -> None:
        self._read = read
        self._outcome: list[T] = []
        self._failure: Exception | None = None

    def __await__(self) -> Generator[None, None, T]:
        if self._failure is not None:
            raise self._failure
        if not self._outcome:
            try:
                self._outcome.append(run_without_loop(self._read))
            except Exception as error:  # raised again, here and by whoever else awaits it
                self._failure = error
                raise
        return self._outcome[0]
        yield  # which makes it what `await` wants


def run_without_loop(work: Coroutine[Any, Any, T]) -> T:
    """The outcome of a coroutine that waits for nothing. One that awaits anything but a snapshot is a bug of ours."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("A search on a snapshot waited for something outside of it.")
