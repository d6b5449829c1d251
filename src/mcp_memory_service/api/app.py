"""The ASGI app: REST routes, MCP at /mcp, one service for both."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from itertools import chain

from fastapi import Depends, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from .. import __version__
from ..access.doors import require_declared
from ..bootstrap import authentication_of, open_service
from ..config import Settings
from .bounds import BodyMiddleware, RefusalMiddleware
from .headers import HeadersMiddleware
from .mcp_endpoint import McpEndpoint
from .metrics import Metrics, MetricsMiddleware
from .openapi import describe
from .problems import install_problem_handlers
from .routes import indexing, life, memories, metadata, operations, search
from .routes.dependencies import admit
from .security import AccessRules, SecurityMiddleware
from .shutdown import StoppingMiddleware

ROUTERS = (search.router, life.router, memories.router, indexing.router, operations.router, metadata.router)
"""In this order: fixed paths come before /memories/{content_hash}."""

ALLOWED_HEADERS = (
    *("authorization", "content-type", "idempotency-key", "x-namespace"),
    *("last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"),
)
"""Of requests from web origins that may call the service."""

DESCRIPTION = """
A memory backend for AI agents: store short texts, find the few that matter, see why.

Errors are `application/problem+json` with a stable `code`. With an API key set, send it as `Authorization: Bearer`.
"""


def create_app(settings: Settings) -> FastAPI:
    """A new app for each call; the service lives from its start-up to its shut-down."""
    metrics = Metrics()
    mcp = McpEndpoint(
        settings.mcp_response_chars, settings.mcp_toolsets, offers_namespace=settings.mcp_namespace_argument
    )
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
    app.state.metadata = metadata.ResourceMetadata(settings.public_url, settings.oauth_issuer)
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(admit)])
    # An exact route: a mount at /mcp would redirect to /mcp/ and lose the body on the way.
    # Nothing is ever pushed, so that there is no stream to GET: each would hold a connection for ever.
    app.router.routes.append(Route("/mcp", endpoint=mcp, methods=["POST", "DELETE"]))
    require_declared(doors_of(app))
    install_problem_handlers(app)
    authentication = authentication_of(settings)
    describe(app, key_required=authentication.is_required)
    app.add_middleware(BodyMiddleware)  # the innermost; each that follows is around those before it
    app.add_middleware(RefusalMiddleware)
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    app.add_middleware(StoppingMiddleware)
    if settings.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[origin.rstrip("/") for origin in settings.allowed_origins],
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=ALLOWED_HEADERS,
            expose_headers=["mcp-session-id"],
        )
    rules = AccessRules(settings.http_host, settings.allowed_hosts, settings.allowed_origins)
    app.add_middleware(SecurityMiddleware, rules=rules, authentication=authentication)
    app.add_middleware(HeadersMiddleware)
    return app


def doors_of(app: FastAPI) -> Iterator[str]:
    """Every method and path that is answered."""
    for route in chain(app.router.routes, *(router.routes for router in ROUTERS)):
        if isinstance(route, Route):
            yield from (f"{method} {route.path}" for method in sorted(route.methods or ()))


@asynccontextmanager
async def _lifespan(app: FastAPI, settings: Settings, mcp: McpEndpoint) -> AsyncGenerator[None, None]:
    async with open_service(settings, warm_up=True) as service, mcp.open(service):
        app.state.service = service
        yield
