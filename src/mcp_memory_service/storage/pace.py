"""How the parts of a search are done: at the same time in the event loop, or one after the other by one thread."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Pace(Protocol):
    def begin(self, asked: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Start what is asked for; at the same time as others where that saves time. All must be awaited."""
        ...

    async def apart(self, work: Callable[[], T]) -> T:
        """Do what takes the processor for long where it holds nobody up."""
        ...


class OnLoop:
    """For reads that wait: all are under way at once, and none outlives the search."""

    def __init__(self) -> None:
        self._begun: list[asyncio.Task[Any]] = []

    async def run(self, search: Callable[[Pace], Coroutine[Any, Any, T]]) -> T:
        try:
            return await search(self)
        finally:
            for task in self._begun:
                task.cancel()

    def begin(self, asked: Coroutine[Any, Any, T]) -> Awaitable[T]:
        task = asyncio.ensure_future(asked)
        self._begun.append(task)
        return task

    async def apart(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)


class AtOnce:
    """For reads that wait for nothing, in a thread of their own."""

    def begin(self, asked: Coroutine[Any, Any, T]) -> Awaitable[T]:
        return _Begun(asked)

    async def apart(self, work: Callable[[], T]) -> T:
        return work()


class _Begun(Generic[T]):
    """Done when it is begun; what it raised is raised where it is awaited."""

    def __init__(self, asked: Coroutine[Any, Any, T]) -> None:
        self._failure: Exception | None = None
        try:
            self._outcome = finished(asked)
        except Exception as error:  # noqa: BLE001 - raised again below
            self._failure = error

    def __await__(self) -> Generator[None, None, T]:
        if self._failure is not None:
            raise self._failure
        return self._outcome
        yield  # which makes it what `await` wants


def finished(work: Coroutine[Any, Any, T]) -> T:
    """The outcome of a coroutine that waits for nothing, without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("A search on a snapshot waited for something outside of it.")
