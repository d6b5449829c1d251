"""The REST routes: each parses, calls one use case, and renders."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel

from .. import __version__
from ..schemas import (
    BatchIn,
    BatchOut,
    ExplainIn,
    ExplainOut,
    FeedbackIn,
    ListIn,
    ListOut,
    MemoryIn,
    MemoryOut,
    PatchIn,
    PurgedOut,
    PurgeIn,
    RetrieveIn,
    RetrieveOut,
    StatsOut,
    StoredOut,
    TagsOut,
)
from ..services import MemoryService
from .metrics import Metrics
from .problems import RETRY_AFTER_SECONDS


class Problem(BaseModel):
    """RFC 9457; `code` is stable, `detail` is for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[dict[str, str]] | None = None


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": Problem, "content": {"application/problem+json": {}}} for status in (*statuses, 413, 422, 503)
    }


async def _service(request: Request) -> MemoryService:
    return request.app.state.service


Service = Annotated[MemoryService, Depends(_service)]
ContentHash = Annotated[str, Path(description="The id of the memory", examples=["9f86d081884c7d65..."])]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Any 1 to 200 printable ASCII characters, such as a new UUID: with it, a request whose outcome is"
        " not known can be sent again for 24 hours",
        examples=["1c9a4a3e-2f0b-4d5c-9a55-0e8c5f1d7b21"],
    ),
]

memories = APIRouter(tags=["memories"])
operations = APIRouter(tags=["operations"])


@memories.post("/memories", status_code=201, responses={200: {"model": StoredOut}, **_problems(507)})
async def store_memory(body: MemoryIn, service: Service, response: Response) -> StoredOut:
    """Remember a text. 201 if it is new; 200 if the same text was there and tags and metadata were united. It
    needs no `Idempotency-Key`: sent again, the same text is the same memory."""
    outcome = await service.store_memory(body.draft())
    response.status_code = 201 if outcome.created else 200
    return StoredOut.of(outcome)


@memories.post("/memories/batch", responses=_problems(507))
async def store_batch(body: BatchIn, service: Service) -> BatchOut:
    """Remember many texts: if one is refused, none is stored. On SQLite this is one transaction. If a Qdrant server
    fails half-way, the answer is 503 `batch_incomplete`, and `errors` names the memories that are not known to be
    stored; sending all of them again is safe."""
    outcomes = await service.store_batch([memory.draft() for memory in body.memories])
    return BatchOut(results=[StoredOut.of(outcome) for outcome in outcomes])


@memories.post("/memories/retrieve", responses=_problems())
async def retrieve_memories(body: RetrieveIn, service: Service) -> RetrieveOut:
    """Find the memories that matter for a query, best first, and see which signals found them."""
    return await body.search_in(service)


@memories.post("/memories/explain", responses=_problems(404))
async def explain_memory(body: ExplainIn, service: Service) -> ExplainOut:
    """Why one memory is where it is in the answer to a query, or why it is not there: its place in every signal, what
    filters or outranks it, and the smallest change of alpha that would put it on the first page."""
    return await body.explain_in(service)


@memories.post("/memories/purge", responses=_problems(507))
async def purge_memories(body: PurgeIn, service: Service) -> PurgedOut:
    """Delete memories so that their bytes are gone from the files of the store, log included, and with them those of
    everything deleted before. The SQLite file is rewritten for it, so writes wait. `pending` if a reader still holds
    the log (the next write finishes it) or there is no room to rewrite the file, and always on Qdrant, which erases in
    its own time. Backups and other copies are not touched. Memories that are not there are named, and no error."""
    return await body.purge_from(service)


@memories.post("/memories/feedback", status_code=204, responses=_problems(404, 507))
async def record_feedback(body: FeedbackIn, service: Service) -> None:
    """Note whether a memory was of use for a query; said again, the last word counts. It never changes a ranking by
    itself: `mcp-memory eval tune` learns from it. The query is kept until the memory is deleted."""
    await body.record_in(service)


@memories.get("/memories", responses=_problems())
async def list_memories(asked: Annotated[ListIn, Query()], service: Service) -> ListOut:
    """All memories that pass the filters, newest first."""
    return await asked.list_from(service)


@memories.get("/memories/{content_hash}", responses=_problems(404))
async def get_memory(content_hash: ContentHash, service: Service) -> MemoryOut:
    """One memory, whole."""
    return MemoryOut.of(await service.get_memory(content_hash))


@memories.patch("/memories/{content_hash}", responses=_problems(404, 507))
async def update_memory(
    content_hash: ContentHash, body: PatchIn, service: Service, idempotency_key: IdempotencyKey = None
) -> MemoryOut:
    """Change tags, type or metadata. The content is the identity: store the new text and delete the old instead. Sent
    again with the same `Idempotency-Key` it changes nothing and answers with the memory as it is by then."""
    return MemoryOut.of(await service.update_memory(content_hash, body.patch(), idempotency_key))


@memories.delete("/memories/{content_hash}", status_code=204, responses=_problems(404, 507))
async def delete_memory(content_hash: ContentHash, service: Service, idempotency_key: IdempotencyKey = None) -> None:
    """Forget a memory for good. Sent again with the same `Idempotency-Key` it answers as the first time, and leaves a
    memory alone that was stored anew meanwhile."""
    await service.delete_memory(content_hash, idempotency_key)


@memories.get("/tags", responses=_problems())
async def list_tags(service: Service) -> TagsOut:
    """Every tag in use, most used first."""
    return TagsOut.of(await service.list_tags())


@operations.get("/stats", responses=_problems())
async def get_stats(service: Service) -> StatsOut:
    """How much is stored, and with which model."""
    return StatsOut.of(await service.stats())


class LiveOut(BaseModel):
    status: str
    version: str


@operations.get("/health")
async def health() -> LiveOut:
    """The process is alive."""
    return LiveOut(status="ok", version=__version__)


class ReadyOut(BaseModel):
    ready: bool
    can_store: bool
    can_search: bool
    """Words and tags are searched also while the embedder is down."""
    problems: list[str]
    """Stable codes only: this route is open to everyone."""


@operations.get("/ready", responses={503: {"model": ReadyOut}})
async def ready(service: Service, response: Response) -> ReadyOut:
    """Storing and searching were tried and would work now: 200; else 503 with the reasons, and which of the two still
    works."""
    state = await service.health()
    if not state.ready:
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return ReadyOut(
        ready=state.ready,
        can_store=state.can_store,
        can_search=state.can_search,
        problems=sorted(state.problems),
    )


@operations.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Request counts and durations for Prometheus."""
    collected: Metrics = request.app.state.metrics
    return Response(collected.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
