"""The ASGI app: REST routes, MCP at /mcp, one service for both."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from .. import __version__
from ..bootstrap import open_service
from ..config import Settings
from .bounds import BodyMiddleware, RefusalMiddleware
from .headers import HeadersMiddleware
from .mcp_endpoint import McpEndpoint
from .metrics import Metrics, MetricsMiddleware
from .openapi import describe
from .problems import install_problem_handlers
from .routes import memories, operations, search
from .security import AccessRules, SecurityMiddleware
from .shutdown import StoppingMiddleware

DESCRIPTION = """
A memory backend for AI agents: store short texts, find the few that matter, see why.

Errors are `application/problem+json` with a stable `code`. With an API key set, send it as `Authorization: Bearer`.
"""


def create_app(settings: Settings) -> FastAPI:
    """A new app for each call; the service lives from its start-up to its shut-down."""
    metrics = Metrics()
    mcp = McpEndpoint(settings.mcp_response_chars, settings.mcp_toolsets)
    app = FastAPI(
        title="mcp-memory-service",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lambda app: _lifespan(app, settings, mcp),
        # The bundled pages load scripts from elsewhere, which neither works offline nor keeps to this machine.
        docs_url=None,
        redoc_url=None,
    )
    app.state.metrics = metrics
    for routes in (search, memories, operations):  # fixed paths before /memories/{content_hash}
        app.include_router(routes.router)
    # An exact route: a mount at /mcp would redirect to /mcp/ and lose the body on the way.
    app.router.routes.append(Route("/mcp", endpoint=mcp, methods=["GET", "POST", "DELETE"]))
    install_problem_handlers(app)
    describe(app, key_required=settings.api_key is not None)
    app.add_middleware(BodyMiddleware)  # the innermost; each that follows is around those before it
    app.add_middleware(RefusalMiddleware)
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    app.add_middleware(StoppingMiddleware)
    if settings.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[origin.rstrip("/") for origin in settings.allowed_origins],
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=[
                "authorization",
                "content-type",
                "idempotency-key",
                "last-event-id",
                "mcp-protocol-version",
                "mcp-session-id",
            ],
            expose_headers=["mcp-session-id"],
        )
    api_key = settings.api_key.get_secret_value() if settings.api_key else None
    rules = AccessRules(settings.http_host, api_key, settings.allowed_hosts, settings.allowed_origins)
    app.add_middleware(SecurityMiddleware, rules=rules)
    app.add_middleware(HeadersMiddleware)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI, settings: Settings, mcp: McpEndpoint) -> AsyncGenerator[None, None]:
    async with open_service(settings, warm_up=True) as service, mcp.open(service):
        app.state.service = service
        yield
