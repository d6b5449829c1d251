"""Work that is done once for everybody who asks for it at the same time."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[K, T]):
    """For one event loop. A failure is for those who wait for it only; when nobody is left who wants it, the work is
    given up."""

    def __init__(self) -> None:
        self._flights: dict[K, _Flight[T]] = {}

    async def run(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        flight = self._flights.get(key)
        if flight is None or flight.task.done():
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)  # who asked first may go away; the others still wait
        finally:
            flight.waiting -= 1
            if flight.waiting == 0:
                flight.task.cancel()
                if self._flights.get(key) is flight:
                    del self._flights[key]
