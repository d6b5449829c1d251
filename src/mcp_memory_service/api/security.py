"""What every request must pass before it is routed, REST and MCP alike: host, origin, key, rate, size."""

import asyncio
import logging
import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..access.authentication import Authentication
from ..access.caller import Caller
from ..access.limits import RateLimits
from ..config import is_loopback
from ..errors import ConfigurationError, NotAuthenticated, TooManyRequests
from .problems import challenge, problem, too_much

logger = logging.getLogger(__name__)

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:[0-9]{1,5})?", re.ASCII)
_LOOPBACK = "<loopback>"  # no host can be named so

MAX_BODY_BYTES = 4 * 1024 * 1024
_TOO_LARGE = f"The body is larger than {MAX_BODY_BYTES // 1024**2} MiB."

METADATA_PATH = "/.well-known/oauth-protected-resource"
OPEN_PATHS = frozenset({"/health", "/ready", METADATA_PATH, f"{METADATA_PATH}/mcp"})
"""Answered without a key: probes have none, and they tell nothing of the memories."""
MAX_HELD_BACK = 64
"""So many answers to wrong keys wait at the same time; what comes beyond is refused at once."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    http_host: str
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


class SecurityMiddleware:
    """Around all but the headers of answers, so that nothing behind it sees a request that breaks the rules. What is
    behind it finds out who is calling with `caller_of`."""

    def __init__(self, app: ASGIApp, rules: AccessRules, authentication: Authentication) -> None:
        self._app = app
        self._rules = rules
        self._authentication = authentication
        self._limits = RateLimits()
        self._held_back = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers)
        if refusal is None:
            try:
                scope.setdefault("state", {})["caller"] = await self._caller(scope, headers)
            except NotAuthenticated as error:
                refusal = problem(401, error.code, error.message, headers=challenge(scope, headers["host"]))
            except TooManyRequests as error:
                refusal = too_much(error)
            except ConfigurationError as error:
                logger.error("Nobody is let in: %s", error.message)  # noqa: TRY400 - it says all there is to say
                refusal = problem(503, "keys_unreadable", "The keys cannot be read; the log of the service says why.")
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, _limited(receive), send)

    def _refusal(self, headers: Headers) -> ASGIApp | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._rules.allows_host(host):
            return problem(421, "host_not_allowed", "This Host is not served here; add it to MCP_MEMORY_ALLOWED_HOSTS.")
        origin = headers.get("origin")
        if len(headers.getlist("origin")) > 1 or (origin is not None and not self._rules.allows_origin(origin, host)):
            return problem(
                403, "origin_not_allowed", "This web origin may not call; add it to MCP_MEMORY_ALLOWED_ORIGINS."
            )
        if any(len(headers.getlist(name)) > 1 for name in ("authorization", "x-namespace")):
            return problem(400, "header_repeated", "Send Authorization and X-Namespace once.")
        if int(headers.get("content-length", "0")) > MAX_BODY_BYTES:  # the HTTP server has checked that it is a number
            return problem(413, "body_too_large", _TOO_LARGE)
        return None

    async def _caller(self, scope: Scope, headers: Headers) -> Caller | None:
        """None at a door that is open to everybody, for who has no key."""
        is_preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        is_open = is_preflight or scope["path"] in OPEN_PATHS
        try:
            caller = await self._authentication.caller(headers.get("authorization", ""))
        except (NotAuthenticated, ConfigurationError) as error:
            if is_open:
                return None
            if isinstance(error, NotAuthenticated) and "authorization" in headers:
                await self._hold_back(scope)
            raise
        if not is_open:
            self._limits.take(caller)
        return caller

    async def _hold_back(self, scope: Scope) -> None:
        """The answer to a wrong key, the longer the more of them came from the same address."""
        delay = self._limits.delay_of_wrong_key((scope.get("client") or ("", 0))[0])
        if delay and self._held_back >= MAX_HELD_BACK:
            raise TooManyRequests("Too many wrong keys are coming in.", 1)
        self._held_back += 1
        try:
            await asyncio.sleep(delay)
        finally:
            self._held_back -= 1


def caller_of(scope: Scope) -> Caller | None:
    """Who is calling; None for who has no key, at a door that is open to everybody."""
    return scope["state"]["caller"]


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
