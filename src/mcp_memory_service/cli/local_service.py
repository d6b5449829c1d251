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
async def open_local(settings: Settings, *, may_create: bool = False) -> AsyncGenerator[MemoryService, None]:
    """A store that is not there is made for commands that store something, and refused for the others."""
    async with open_service(settings, must_exist=not may_create) as service:
        yield service.within(OWNER.namespace(settings.namespace))


def ask(settings: Settings, use_case: Callable[[MemoryService], Awaitable[T]], *, may_create: bool = False) -> T:
    """Run one use case, from opening the store to closing it."""

    async def run() -> T:
        async with open_local(settings, may_create=may_create) as service:
            return await use_case(service)

    return asyncio.run(run())
