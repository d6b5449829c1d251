"""Closing without dropping what was accepted."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from ...errors import StorageUnavailable


class AcceptedWrites:
    """Counts the writes under way; after `finish` has begun, no further one is accepted."""

    def __init__(self) -> None:
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._finishing = False

    @asynccontextmanager
    async def accepted(self) -> AsyncGenerator[None, None]:
        if self._finishing:
            raise StorageUnavailable("The store is closed.")
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def finish(self, within_seconds: float) -> None:
        self._finishing = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), within_seconds)
