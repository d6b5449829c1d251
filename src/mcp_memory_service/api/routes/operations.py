"""How the service is doing."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from ... import __version__
from ...schemas import StatsOut
from ..metrics import Metrics
from ..problems import RETRY_AFTER_SECONDS
from ..security import caller_of
from .dependencies import Service, problems

router = APIRouter(tags=["operations"])


@router.get("/stats", responses=problems())
async def get_stats(service: Service) -> StatsOut:
    """How much is stored, and with which model."""
    return StatsOut.of(await service.stats())


class LiveOut(BaseModel):
    status: str
    version: str | None = Field(default=None, description="For callers with a key, where one is needed")


@router.get("/health", response_model_exclude_none=True)
async def health(request: Request) -> LiveOut:
    """The process is alive."""
    return LiveOut(status="ok", version=None if caller_of(request.scope) is None else __version__)


class ReadyOut(BaseModel):
    ready: bool
    can_store: bool
    can_search: bool
    """Words and tags are searched also while the embedder is down."""
    problems: list[str]
    """Stable codes only: this route is open to everyone."""


@router.get("/ready", responses={503: {"model": ReadyOut}})
async def ready(service: Service, response: Response) -> ReadyOut:
    """Storing and searching were tried and would work now: 200; else 503 with the reasons, and which of the two still
    works."""
    state = await service.health()
    if not state.ready:
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return ReadyOut(
        ready=state.ready, can_store=state.can_store, can_search=state.can_search, problems=sorted(state.problems)
    )


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Request counts and durations for Prometheus."""
    collected: Metrics = request.app.state.metrics
    return Response(collected.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
