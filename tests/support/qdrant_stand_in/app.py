"""The routes of Qdrant's REST API that we use."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from qdrant_client.http import models
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from . import engine as actions
from .engine import Collection, Engine, Handler
from .grpc_face import serve_grpc

VERSION = "1.20.0"
"""Of the server whose engine this is."""

ACTIONS: dict[tuple[str, str], tuple[Handler, type[BaseModel] | None]] = {
    ("POST", "points/query"): (actions.query, models.QueryRequest),
    ("POST", "points/scroll"): (actions.scroll, models.ScrollRequest),
    ("POST", "points/count"): (actions.count, models.CountRequest),
    ("POST", "facet"): (actions.facet, models.FacetRequest),
    ("POST", "points"): (actions.retrieve, models.PointRequest),
    ("PUT", "points"): (actions.upsert, models.PointsList),
    ("POST", "points/delete"): (actions.delete, models.PointIdsList),
    ("POST", "points/payload"): (actions.set_payload, models.SetPayload),
    ("POST", "points/payload/delete"): (actions.delete_payload, models.DeletePayload),
    ("POST", "points/batch"): (actions.batch, models.UpdateOperations),
    ("PUT", "index"): (actions.create_index, models.CreateFieldIndex),
    ("POST", "optimize"): (actions.optimize, None),
}


class KeyCheck:
    """Asks for the key everywhere but where Qdrant does not."""

    def __init__(self, app: ASGIApp, api_key: str | None) -> None:
        self._app = app
        self._api_key = api_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        open_to_all = scope["type"] != "http" or scope["path"] in {"/", "/readyz"} or self._api_key is None
        if open_to_all or Request(scope).headers.get("api-key") == self._api_key:
            await self._app(scope, receive, send)
        else:
            await _error(401, "Must provide an API key")(scope, receive, send)


class Endpoints:
    def __init__(self, engine: Engine, version: str) -> None:
        self._engine = engine
        self._version = version

    async def info(self, _request: Request) -> Response:
        return JSONResponse({"title": "qdrant - stand-in on qdrant-edge", "version": self._version})

    async def ready(self, _request: Request) -> Response:
        return PlainTextResponse("all shards are ready")

    async def exists(self, request: Request) -> Response:
        return _answer({"exists": self._engine.find(request.path_params["name"]) is not None})

    async def collection(self, request: Request) -> Response:
        name = request.path_params["name"]
        if request.method == "PUT":
            asked = models.CreateCollection.model_validate_json(await request.body())
            made = await run_in_threadpool(self._engine.create, name, asked)
            return _answer(True) if made else _error(409, f"Collection `{name}` already exists!")
        if request.method == "PATCH":
            changed = models.UpdateCollection.model_validate_json(await request.body())
            return _answer(await run_in_threadpool(self._engine.describe, name, changed.metadata or {}))
        if request.method == "DELETE":
            return _answer(await run_in_threadpool(self._engine.drop, name))
        found = self._engine.find(name)
        return _answer(found.info()) if found else _error(404, f"Collection `{name}` doesn't exist!")

    async def act(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = self._engine.find(name)
        if found is None:
            return _error(404, f"Collection `{name}` doesn't exist!")
        handler, shape = ACTIONS[request.method, request.path_params["action"]]
        return await run_in_threadpool(_act, found, handler, shape, await request.body())


def create_app(
    folder: Path, api_key: str | None = None, version: str = VERSION, grpc_port: int | None = None
) -> Starlette:
    """`grpc_port` opens the gRPC API too, for as long as the app runs."""
    engine = Engine(folder)
    endpoints = Endpoints(engine, version)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None, None]:
        grpc_server = (await serve_grpc(engine, version, grpc_port)) if grpc_port is not None else None
        yield
        if grpc_server:
            await grpc_server.stop(grace=1.0)
        engine.close()

    return Starlette(
        routes=[
            Route("/", endpoints.info),
            Route("/readyz", endpoints.ready),
            Route("/collections/{name}/exists", endpoints.exists),
            Route("/collections/{name}", endpoints.collection, methods=["GET", "PUT", "PATCH", "DELETE"]),
            Route("/collections/{name}/{action:path}", endpoints.act, methods=["POST", "PUT"]),
        ],
        middleware=[Middleware(KeyCheck, api_key=api_key)],
        exception_handlers={ValidationError: _bad_request, ValueError: _bad_request, KeyError: _bad_request},
        lifespan=lifespan,
    )


def _act(found: Collection, handler: Handler, shape: type[BaseModel] | None, body: bytes) -> Response:
    return _answer(handler(found, shape.model_validate_json(body) if shape else None))


def _answer(result: Any) -> Response:
    body = json.dumps({"result": result, "status": "ok", "time": 0.0}, ensure_ascii=False)
    return Response(body, media_type="application/json")


def _error(status: int, message: str) -> Response:
    return JSONResponse({"status": {"error": message}, "time": 0.0}, status_code=status)


async def _bad_request(_request: Request, error: Exception) -> Response:
    return _error(400, str(error))
