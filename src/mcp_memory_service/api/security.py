"""What every request must pass before it is routed, REST and MCP alike: host, origin, size, key."""

import re
import secrets
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..config import is_loopback
from .problems import problem

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:[0-9]{1,5})?", re.ASCII)
_LOOPBACK = "<loopback>"  # no host can be named so

MAX_BODY_BYTES = 4 * 1024 * 1024
_TOO_LARGE = f"The body is larger than {MAX_BODY_BYTES // 1024**2} MiB."

OPEN_PATHS = frozenset({"/health", "/ready"})
"""Answered without a key: probes have none, and they tell nothing of the memories."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    http_host: str
    api_key: str | None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()

    def allows_host(self, host_header: str) -> bool:
        """Loopback names, the address we serve on, and what was allowed: a page that was made to point to this
        machine (DNS rebinding) comes with its own name."""
        here = _parts(f"//{host_header}") if _HOST.fullmatch(host_header) else None
        served = {_LOOPBACK, self.http_host.lower(), *(allowed.lower() for allowed in self.allowed_hosts)}
        return here is not None and (here.host in served or "*" in served)

    def allows_origin(self, origin: str, host_header: str) -> bool:
        """The page's own server or what was allowed; the names of the loopback address are one and the same."""
        if origin.rstrip("/").lower() in {allowed.rstrip("/").lower() for allowed in self.allowed_origins}:
            return True
        page, here = _parts(origin), _parts(f"//{host_header}")
        if page is None or here is None:
            return False
        default_port = {"http": 80, "https": 443}.get(page.scheme)
        return (page.host, page.port or default_port) == (here.host, here.port or default_port)

    def allows_key(self, authorization: str) -> bool:
        """Compared as bytes in constant time; a header may hold any bytes."""
        if self.api_key is None:
            return True
        scheme, _, token = authorization.partition(" ")
        given = token.strip().encode("latin-1", "replace")
        return scheme.lower() == "bearer" and secrets.compare_digest(given, self.api_key.encode())


class SecurityMiddleware:
    """Outermost, so that nothing behind it sees a request that breaks the rules."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, _limited(receive), send)

    def _refusal(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._rules.allows_host(host):
            return problem(421, "host_not_allowed", "This Host is not served here; add it to MCP_MEMORY_ALLOWED_HOSTS.")
        origin = headers.get("origin")
        if len(headers.getlist("origin")) > 1 or (origin is not None and not self._rules.allows_origin(origin, host)):
            return problem(
                403, "origin_not_allowed", "This web origin may not call; add it to MCP_MEMORY_ALLOWED_ORIGINS."
            )
        is_preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        is_open = is_preflight or scope["path"] in OPEN_PATHS
        if not is_open and not self._rules.allows_key(headers.get("authorization", "")):
            return problem(
                401,
                "api_key_required",
                "Send the API key as 'Authorization: Bearer <key>'.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if int(headers.get("content-length", "0")) > MAX_BODY_BYTES:  # the HTTP server has checked that it is a number
            return problem(413, "body_too_large", _TOO_LARGE)
        return None


def _limited(receive: Receive) -> Receive:
    """Count the body as it arrives: a chunked one does not announce its size."""
    received = 0

    async def limited_receive() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY_BYTES:
            raise HTTPException(413, _TOO_LARGE)
        return message

    return limited_receive


class _Address(NamedTuple):
    scheme: str
    host: str
    """The names of the loopback address are one and the same: `_LOOPBACK`."""
    port: int | None


def _parts(url: str) -> _Address | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return _Address(parts.scheme, _LOOPBACK if is_loopback(host) else host, port) if host else None
