"""How the parts of a search are done: at the same time in the event loop, or one after the other by one thread."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Pace(Protocol):
    def begin(self, asked: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Have something done by the time it is awaited; at the same time as others where that saves time. What is
        never awaited is given up."""
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


class AtOnce:
    """For reads that wait for nothing, in a thread of their own: each is done when it is first awaited."""

    def __init__(self) -> None:
        self._begun: list[Coroutine[Any, Any, Any]] = []

    async def run(self, search: Callable[[Pace], Coroutine[Any, Any, T]]) -> T:
        try:
            return await search(self)
        finally:
            for asked in self._begun:
                asked.close()

    def begin(self, asked: Coroutine[Any, Any, T]) -> Awaitable[T]:
        self._begun.append(asked)
        return _Begun(asked)


class _Begun(Generic[T]):
    """May be awaited any number of times; what it raised is raised every time."""

    def __init__(self, asked: Coroutine[Any, Any, T]) -> None:
        self._asked = asked
        self._outcome: list[T] = []
        self._failure: Exception | None = None

    def __await__(self) -> Generator[None, None, T]:
        if self._failure is not None:
            raise self._failure
        if not self._outcome:
            try:
                self._outcome.append(finished(self._asked))
            except Exception as error:  # raised again, here and by whoever else awaits it
                self._failure = error
                raise
        return self._outcome[0]
        yield  # which makes it what `await` wants


def finished(work: Coroutine[Any, Any, T]) -> T:
    """The outcome of a coroutine that waits for nothing, without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("A search on a snapshot waited for something outside of it.")
