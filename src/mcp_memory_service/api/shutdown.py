"""Requests that are cut off because the service stops."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import RETRY_AFTER_SECONDS, problem


class StoppingMiddleware:
    """Who is cut off is told so: what was asked for may or may not have been done."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered = False

        async def noting_send(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self._app(scope, receive, noting_send)
        except asyncio.CancelledError:
            if answered or scope["type"] != "http":
                raise
            stopping = problem(
                503,
                "stopping",
                "The service stops and could not finish this in time; sending it again is safe.",
                headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
            )
            await stopping(scope, receive, send)
