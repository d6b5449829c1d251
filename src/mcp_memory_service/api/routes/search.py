"""Finding memories, the reasons for what is found, and what it was worth."""

from fastapi import APIRouter

from ...schemas import ExplainIn, ExplainOut, FeedbackIn, RetrieveIn, RetrieveOut
from .dependencies import Service, problems

router = APIRouter(tags=["memories"])


@router.post("/memories/retrieve", responses=problems())
async def retrieve_memories(body: RetrieveIn, service: Service) -> RetrieveOut:
    """Find the memories that matter for a query, best first, and see which signals found them. Of a content over 4,000
    characters comes what matches best (`passages`, with their places in the whole), unless `full` is true."""
    return RetrieveOut.of(await service.search(body.request()))


@router.post("/memories/explain", responses=problems(404))
async def explain_memory(body: ExplainIn, service: Service) -> ExplainOut:
    """Why one memory is where it is in the answer to a query, or why it is not there: its place in every signal, what
    filters or outranks it, and the smallest change of alpha that would put it on the first page."""
    return ExplainOut.of(await service.explain(body.request(), body.content_hash))


@router.post("/memories/feedback", status_code=204, responses=problems(404, 507))
async def record_feedback(body: FeedbackIn, service: Service) -> None:
    """Note whether a memory was of use for a query; said again, the last word counts. It never changes a ranking by
    itself: `mcp-memory eval tune` learns from it. The query is kept until the memory is deleted."""
    await service.record_feedback(body.query, body.content_hash, useful=body.useful)
