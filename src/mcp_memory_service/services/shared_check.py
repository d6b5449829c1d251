"""A check that is made once for everybody who asks at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")

KEPT_SECONDS = 1.0


class SharedCheck(Generic[T]):
    """Its answer serves for a moment after it was found."""

    def __init__(self, check: Callable[[], Awaitable[T]], monotonic_seconds: Callable[[], float]) -> None:
        self._check = check
        self._monotonic_seconds = monotonic_seconds
        self._running: asyncio.Task[T] | None = None
        self._kept_until = 0.0

    async def __call__(self) -> T:
        if self._running is None or (self._running.done() and self._monotonic_seconds() >= self._kept_until):
            self._running = asyncio.create_task(self._run())
        # Who asked first may go away; the others still wait.
        return await asyncio.shield(self._running)

    async def _run(self) -> T:
        try:
            return await self._check()
        finally:
            self._kept_until = self._monotonic_seconds() + KEPT_SECONDS
