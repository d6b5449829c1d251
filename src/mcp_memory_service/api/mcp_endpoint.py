"""MCP over streamable HTTP at /mcp, started by its first request.

The MCP library takes a second to import and 27 MB to hold; who only speaks REST waits and pays for neither.
"""

import asyncio
import importlib
import json
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..access.caller import NOBODY
from ..access.caller import Scope as AccessScope
from ..access.doors import DOORS, admitted
from ..errors import Forbidden, InvalidInput, ScopeMissing
from ..services import MemoryService
from .bounds import replayed, whole_body
from .problems import problem, scope_missing
from .security import caller_of


class McpEndpoint:
    """An ASGI app that hands requests to the MCP sessions of the service it was opened with."""

    def __init__(self, response_chars: int, toolsets: Collection[str], *, offers_namespace: bool) -> None:
        self._response_chars = response_chars
        self._toolsets = toolsets
        self._offers_namespace = offers_namespace
        self._service: MemoryService | None = None
        self._sessions: asyncio.Task[None] | None = None
        self._handler: asyncio.Future[ASGIApp] | None = None
        self._closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await whole_body(receive) if scope["method"] == "POST" else b""
        if body is None:  # the client is gone
            return
        refusal = _refusal(scope, body)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        handle = await self._started()
        await handle(scope, replayed(body, receive) if scope["method"] == "POST" else receive, _once(send))

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

        server = build_mcp_server(
            self._service, self._response_chars, self._toolsets, NOBODY, offers_namespace=self._offers_namespace
        )
        async with http_sessions(server) as handle:
            handler.set_result(handle)
            await self._closing.wait()


def _once(send: Send) -> Send:
    """The library answers once more, with an error, if its answer could not be sent because the client is gone."""
    starts = 0

    async def send_once(message: Message) -> None:
        nonlocal starts
        starts += message["type"] == "http.response.start"
        if starts == 1:
            await send(message)

    return send_once


def _refusal(scope: Scope, body: bytes) -> ASGIApp | None:
    """403 with all scopes that the call needs, as clients that fetch tokens by themselves want it. The tool or prompt
    is admitted once more where it is called."""
    caller, headers = caller_of(scope), Headers(scope=scope)
    assert caller is not None, "/mcp is not open to everybody"
    try:
        caller.require(_needed(body))
        if "x-namespace" in headers:  # else the tool's argument may name it
            admitted(caller, f"{scope['method']} /mcp", headers["x-namespace"])
    except ScopeMissing as error:
        return scope_missing(scope, headers["host"], error)
    except Forbidden as error:
        return problem(403, error.code, error.message)
    except InvalidInput as error:
        return problem(422, error.code, error.message)
    return None


def _needed(body: bytes) -> AccessScope:
    """The widest scope that a message, or one of several, needs; what is no message is refused further on."""
    try:
        sent: Any = json.loads(body)
    except (ValueError, RecursionError):
        return AccessScope.READ
    messages = cast("list[Any]", sent) if isinstance(sent, list) else [sent]
    doors = [DOORS.get(_door(message)) for message in messages]
    return max((door.scope for door in doors if door and door.scope), default=AccessScope.READ)


def _door(message: Any) -> str:
    """Of a tool or a prompt; resources are only read."""
    match message:
        case {"method": "tools/call", "params": {"name": str() as name}}:
            return f"tool {name}"
        case {"method": "prompts/get", "params": {"name": str() as name}}:
            return f"prompt {name}"
        case _:
            return ""
