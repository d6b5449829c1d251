"""A request that is cut off by a stop gets an answer that says so."""

import asyncio
import json
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from mcp_memory_service.api.shutdown import StoppingMiddleware


async def test_a_request_that_is_cut_off_is_told_that_the_service_stops():
    begun = asyncio.Event()
    sent: list[Message] = []

    async def endless(_scope: Scope, _receive: Receive, _send: Send) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/memories", "headers": []}
    request = asyncio.create_task(StoppingMiddleware(endless)(scope, receive, send))
    await begun.wait()
    request.cancel()
    await request
    start, body = sent
    assert start["status"] == 503
    assert (b"retry-after", b"5") in start["headers"]
    assert json.loads(body["body"])["code"] == "stopping"
