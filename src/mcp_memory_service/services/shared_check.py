"""A check that is made once for everybody who asks at the same time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SharedCheck(Generic[T]):
    """However many ask, one check runs: it takes part in the work of the store, and anybody may ask for it."""

    def __init__(self, check: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._check = check
        self._running: asyncio.Task[T] | None = None

    async def __call__(self) -> T:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._check())
        # Who asked first may go away; the others still wait.
        return await asyncio.shield(self._running)
