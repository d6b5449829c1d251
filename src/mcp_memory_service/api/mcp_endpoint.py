"""MCP over streamable HTTP at /mcp, started by its first request.

The MCP library takes a second to import and 27 MB to hold; who only speaks REST waits and pays for neither.
"""

import asyncio
import importlib
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from ..services import MemoryService


class McpEndpoint:
    """An ASGI app that hands requests to the MCP sessions of the service it was opened with."""

    def __init__(self, response_chars: int, toolsets: Collection[str]) -> None:
        self._response_chars = response_chars
        self._toolsets = toolsets
        self._service: MemoryService | None = None
        self._sessions: asyncio.Task[None] | None = None
        self._handler: asyncio.Future[ASGIApp] | None = None
        self._closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handle = await self._started()
        await handle(scope, receive, send)

    @asynccontextmanager
    async def open(self, service: MemoryService) -> AsyncGenerator[None, None]:
        self._service = service
        try:
            yield
        finally:
            self._closing.set()
            if self._sessions is not None:
                await self._sessions

    async def _started(self) -> ASGIApp:
        if self._handler is None or self._sessions is None:
            self._handler = asyncio.get_running_loop().create_future()
            self._sessions = asyncio.create_task(self._run_sessions(self._handler))
        await asyncio.wait({self._handler, self._sessions}, return_when=asyncio.FIRST_COMPLETED)
        if not self._handler.done():
            self._sessions.result()  # raises what kept the sessions from starting
        return self._handler.result()

    async def _run_sessions(self, handler: asyncio.Future[ASGIApp]) -> None:
        """One task from start to end: the session manager must be left by the task that entered it."""
        assert self._service is not None, "requests are served only while the endpoint is open"
        await asyncio.to_thread(importlib.import_module, "mcp_memory_service.mcp_server")
        from ..mcp_server import build_mcp_server, http_sessions  # noqa: PLC0415

        server = build_mcp_server(self._service, self._response_chars, self._toolsets)
        async with http_sessions(server) as handle:
            handler.set_result(handle)
            await self._closing.wait()
