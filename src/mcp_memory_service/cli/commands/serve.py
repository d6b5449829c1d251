"""Commands that run until they are stopped."""

import asyncio
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import uvicorn

from ...access.caller import EVERY_NAMESPACE, OWNER
from ...access.keys import local_key
from ...bootstrap import key_ring, open_service
from ...config import Settings, is_loopback, require_key_for_open_address
from ...errors import ConfigurationError
from ..flags import RANKING, RERANKING, STORAGE, Flag, with_settings
from ..logs import logger
from ..terminal import say

# Accepted requests get this long to finish; an open MCP event stream would otherwise keep the process for ever.
SHUTDOWN_SECONDS = 10

HTTP: dict[str, Flag] = {
    "local_key": click.option(
        "--local-key", is_flag=True, default=None, help="Ask for a key, made at the first start [MCP_MEMORY_LOCAL_KEY]"
    ),
    "certfile": click.option(
        "--certfile", type=click.Path(path_type=Path), help="Certificate for https [MCP_MEMORY_CERTFILE]"
    ),
    "keyfile": click.option("--keyfile", type=click.Path(path_type=Path), help="Its key [MCP_MEMORY_KEYFILE]"),
    "http_host": click.option("--http-host", help="Address to serve on [MCP_MEMORY_HTTP_HOST]"),
    "http_port": click.option("--http-port", type=int, help="Port to serve on [MCP_MEMORY_HTTP_PORT]"),
}


@click.command()
@with_settings({**STORAGE, **RANKING, **RERANKING, **HTTP}, env_of_current_folder=True)
def serve(settings: Settings) -> None:
    """Serve REST and MCP (at /mcp) over HTTP.

    \b
    Example:
      mcp-memory serve --http-port 8000
    """
    from ...api import create_app
    from ...api.http_server import BoundedProtocol

    if settings.local_key:
        local_key(key_ring(settings), settings.local_key_path)
    has_keys = bool(settings.api_key or settings.oauth_issuer or key_ring(settings))
    require_key_for_open_address(settings, has_keys=has_keys)
    _require_certificate(settings)
    listener = _listen(settings.http_host, settings.http_port)
    asyncio.run(_open_once(settings))
    host, port = listener.getsockname()[:2]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    url = f"{'https' if settings.certfile else 'http'}://{address}"
    logger.info("Serving REST on %s and MCP on %s/mcp, memories in %s", url, url, settings.store)
    for sentence in _exposure(settings, is_closed=has_keys):
        logger.info(sentence)
    config = uvicorn.Config(
        create_app(settings),
        http=BoundedProtocol,
        log_config=None,
        access_log=False,  # it would repeat tags and search words from query strings; /metrics counts requests
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_certfile=settings.certfile,
        ssl_keyfile=settings.keyfile,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _require_certificate(settings: Settings) -> None:
    """A certificate that cannot be used is said in one line, before anything is opened."""
    if settings.certfile is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.certfile, settings.keyfile)
    except OSError as error:
        raise ConfigurationError(f"The certificate {settings.certfile} cannot be used: {error}") from error


def _exposure(settings: Settings, *, is_closed: bool) -> Iterator[str]:
    """Who can reach the service, and what others can read on the way."""
    if not is_closed:
        yield "No key is asked for: every account of this machine can read and write the memories (--local-key asks)."
    if not is_loopback(settings.http_host) and not settings.certfile:
        yield "Keys and memories travel in the clear: set --certfile and --keyfile, or put a proxy with TLS before it."
    if not is_loopback(settings.http_host) and not settings.allowed_hosts:
        yield "Clients that use a name for this machine get 421: list the name in MCP_MEMORY_ALLOWED_HOSTS."


async def _open_once(settings: Settings) -> None:
    """A store that cannot be opened is said in one line; inside the server it would be a traceback."""
    async with open_service(settings):
        pass


@click.command()
@with_settings({**STORAGE, **RANKING, **RERANKING})
def mcp(settings: Settings) -> None:
    """Serve MCP over standard input and output, for one client.

    \b
    Example, in an MCP client's configuration:
      {"command": "mcp-memory", "args": ["mcp"]}
    """
    if sys.stdin.isatty():
        say(
            "Waiting for an MCP client to write to standard input: clients start this command. Ctrl-C ends it.",
            err=True,
        )
    # The reader of standard input cannot be interrupted. What was acknowledged is on disk: Ctrl-C may end us at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_stdio(settings))


async def _stdio(settings: Settings) -> None:
    from ...mcp_server import build_mcp_server

    async with open_service(settings, warm_up=True) as service:
        caller = replace(OWNER, namespaces=(settings.namespace, EVERY_NAMESPACE))
        server = build_mcp_server(
            service,
            settings.mcp_response_chars,
            settings.mcp_toolsets,
            caller,
            offers_namespace=settings.mcp_namespace_argument,
        )
        await server.run_stdio_async()


def _listen(host: str, port: int) -> socket.socket:
    """Bind first, so that a taken port is said in one line and port 0 is known before the server starts."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot serve on {host}:{port} ({error.strerror or error}):"
            " set MCP_MEMORY_HTTP_HOST or MCP_MEMORY_HTTP_PORT."
        ) from error
    return listener
