"""The service as the user of this machine sees it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from ..access.caller import OWNER
from ..bootstrap import open_service
from ..config import Settings
from ..services import MemoryService

T = TypeVar("T")


@asynccontextmanager
async def open_local(settings: Settings) -> AsyncGenerator[MemoryService, None]:
    async with open_service(settings) as service:
        yield service.within(OWNER.namespace(settings.namespace))


def ask(settings: Settings, use_case: Callable[[MemoryService], Awaitable[T]]) -> T:
    """Run one use case, from opening the store to closing it."""

    async def run() -> T:
        async with open_local(settings) as service:
            return await use_case(service)

    return asyncio.run(run())
