"""What the body of one request may cost: values to parse, names to repeat, and the length of a refusal."""

import re
from collections.abc import Mapping
from typing import Any, cast

import pydantic_core
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem

MAX_VALUES = 250_000
"""Of one JSON body: 500 memories with a vector of 384 numbers each have 200,000."""
MAX_PARTS = 50_000
"""Keys, lists and objects of one JSON body: a hundred for each memory of a batch. They cost most: 4 MiB of `[],[],`
take 84 MiB and half a second when they are parsed, the costliest of this many 10 MiB and 0.02 s."""
MAX_REFUSAL_BYTES = 16 * 1024
MAX_MESSAGE_NAME_CHARS = 1_000
"""Of what a JSON-RPC answer repeats: id, method, names and addresses of what is called."""

# A thousand values or parts outside of strings, in one call; possessive, so that nothing is kept to go back to.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_THOUSAND_VALUES = re.compile(rb'(?:(?:[^",]++|' + _STRING + rb")*+,){1000}+", re.DOTALL)
_THOUSAND_PARTS = re.compile(rb'(?:(?:[^":\[{]++|' + _STRING + rb")*+[:\[{]){1000}+", re.DOTALL)


class BodyMiddleware:
    """Looks at a whole body before anything is made of it. The size is bounded before, by `SecurityMiddleware`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in {"POST", "PATCH"}:
            await self._app(scope, receive, send)
            return
        try:
            body = await whole_body(receive)
        except HTTPException as error:
            await problem(error.status_code, "body_too_large", str(error.detail))(scope, receive, send)
            return
        if body is None:  # the client is gone
            return
        refusal = _refusal(scope, body)
        await (refusal or self._app)(scope, replayed(body, receive), send)


class RefusalMiddleware:
    """No refusal is longer than `MAX_REFUSAL_BYTES`, whatever it would repeat of the request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shorter: Response | None = None

        async def bounded_send(message: Message) -> None:
            nonlocal shorter
            if message["type"] == "http.response.start" and _is_long_refusal(message):
                detail = "The request was refused; the reasons are too long to be repeated."
                shorter = problem(message["status"], "refused", detail)
                await shorter(scope, receive, send)
            elif shorter is None:
                await send(message)

        await self._app(scope, receive, bounded_send)


def _is_long_refusal(start: Message) -> bool:
    length = Headers(raw=start["headers"]).get("content-length", "0")
    return 400 <= start["status"] < 500 and int(length) > MAX_REFUSAL_BYTES


def _refusal(scope: Scope, body: bytes) -> ASGIApp | None:
    if b"\0" in body:
        # UTF-16 and UTF-32, which the parser would take and the counts below would not see through.
        return problem(400, "malformed_json", "The body is not JSON in UTF-8.")
    if _more_than(MAX_VALUES, b",", _THOUSAND_VALUES, body) or _more_than(MAX_PARTS, b":[{", _THOUSAND_PARTS, body):
        return problem(
            413,
            "body_too_complex",
            f"The body has more than {MAX_VALUES} values, or {MAX_PARTS} keys, lists and objects; send it in parts.",
        )
    if scope["path"] == "/mcp" and len(body) > MAX_REFUSAL_BYTES and _has_long_names(body):
        return problem(
            400,
            "name_too_long",
            f"The id, method or name of a message has more than {MAX_MESSAGE_NAME_CHARS} characters.",
        )
    return None


def _more_than(limit: int, marks: bytes, thousand: re.Pattern[bytes], body: bytes) -> bool:
    """Counted roughly first: few bodies have so many marks even with those inside of texts."""
    if sum(body.count(mark) for mark in marks) <= limit:
        return False
    position, count = 0, 0
    while count <= limit and (found := thousand.match(body, position)):
        position, count = found.end(), count + 1_000
    return count > limit


def _has_long_names(body: bytes) -> bool:
    try:
        message: Any = pydantic_core.from_json(body)
    except ValueError:
        return False  # the transport says so
    params = _mapping(_mapping(message).get("params"))
    named = (_mapping(message).get("id"), _mapping(message).get("method"), params.get("name"), params.get("uri"))
    return any(isinstance(name, str) and len(name) > MAX_MESSAGE_NAME_CHARS for name in named)


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


async def whole_body(receive: Receive) -> bytes | None:
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body once, then what comes after it."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
