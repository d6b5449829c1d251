"""Commands that run until they are stopped."""

import asyncio
import signal
import socket

import click
import uvicorn

from ...bootstrap import open_service
from ...config import Settings, require_key_for_open_address
from ...errors import ConfigurationError
from ..flags import RANKING, STORAGE, Flag, with_settings
from ..logs import logger

# Accepted requests get this long to finish; an open MCP event stream would otherwise keep the process for ever.
SHUTDOWN_SECONDS = 10

HTTP: dict[str, Flag] = {
    "http_host": click.option("--http-host", help="Address to serve on [MCP_MEMORY_HTTP_HOST]"),
    "http_port": click.option("--http-port", type=int, help="Port to serve on [MCP_MEMORY_HTTP_PORT]"),
}


@click.command()
@with_settings({**STORAGE, **RANKING, **HTTP})
def serve(settings: Settings) -> None:
    """Serve REST and MCP (at /mcp) over HTTP.

    \b
    Example:
      mcp-memory serve --http-port 8000
    """
    from ...api import create_app

    require_key_for_open_address(settings)
    listener = _listen(settings.http_host, settings.http_port)
    asyncio.run(_open_once(settings))
    host, port = listener.getsockname()[:2]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    logger.info("Serving REST on http://%s and MCP on http://%s/mcp, memories in %s", address, address, settings.store)
    config = uvicorn.Config(
        create_app(settings),
        log_config=None,
        access_log=False,  # it would repeat tags and search words from query strings; /metrics counts requests
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])


async def _open_once(settings: Settings) -> None:
    """A store that cannot be opened is said in one line; inside the server it would be a traceback."""
    async with open_service(settings):
        pass


@click.command()
@with_settings({**STORAGE, **RANKING})
def mcp(settings: Settings) -> None:
    """Serve MCP over standard input and output, for one client.

    \b
    Example, in an MCP client's configuration:
      {"command": "mcp-memory", "args": ["mcp"]}
    """
    # The reader of standard input cannot be interrupted. What was acknowledged is on disk: Ctrl-C may end us at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_stdio(settings))


async def _stdio(settings: Settings) -> None:
    from ...mcp_server import build_mcp_server

    async with open_service(settings, warm_up=True) as service:
        await build_mcp_server(service, settings.mcp_response_chars, settings.mcp_toolsets).run_stdio_async()


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
