"""What every request must pass before it is routed, REST and MCP alike: host, origin, size, key."""

import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..config import is_loopback
from .problems import problem

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
        name = _host_name(host_header)
        if name is None:
            return False
        named = {allowed.lower() for allowed in self.allowed_hosts}
        return is_loopback(name) or name == self.http_host.lower() or name in named or "*" in named

    def allows_origin(self, origin: str, host_header: str) -> bool:
        """The page's own server or what was allowed; the names of the loopback address are one and the same."""
        if origin.rstrip("/").lower() in {allowed.rstrip("/").lower() for allowed in self.allowed_origins}:
            return True
        page, here = _address(origin), _address(f"{urlsplit(origin).scheme}://{host_header}")
        return page is not None and page == here

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
        refusal = self._refusal(scope["path"], Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, _limited(receive), send)

    def _refusal(self, path: str, headers: Headers) -> ASGIApp | None:
        host = headers.get("host", "")
        if not self._rules.allows_host(host):
            return problem(421, "host_not_allowed", "This Host is not served here; add it to MCP_MEMORY_ALLOWED_HOSTS.")
        origin = headers.get("origin")
        if origin is not None and not self._rules.allows_origin(origin, host):
            return problem(
                403, "origin_not_allowed", "This web origin may not call; add it to MCP_MEMORY_ALLOWED_ORIGINS."
            )
        if path not in OPEN_PATHS and not self._rules.allows_key(headers.get("authorization", "")):
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


def _host_name(host_header: str) -> str | None:
    try:
        name = urlsplit(f"//{host_header}").hostname
    except ValueError:
        return None
    return name.lower() if name else None


def _address(url: str) -> tuple[str, int | None] | None:
    """Host and port of a URL, with all loopback names taken as one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    default_port = {"http": 80, "https": 443}.get(parts.scheme)
    return ("loopback" if is_loopback(host) else host.lower()), port or default_port
