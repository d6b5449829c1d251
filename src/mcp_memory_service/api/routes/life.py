"""What becomes of memories: history, trash, changes of many; and what an agent should know before it begins."""

from typing import Annotated

from fastapi import APIRouter, Query

from ...schemas import (
    BulkOut,
    ContextIn,
    ContextOut,
    DeleteMatchingIn,
    HistoryOut,
    ListOut,
    MemoryOut,
    OverviewOut,
    Page,
    PageSize,
    RetagIn,
)
from .dependencies import ContentHash, Service, problems

router = APIRouter(tags=["memories"])


@router.get("/memories/{content_hash}/history", responses=problems(404, 409))
async def memory_history(content_hash: ContentHash, service: Service) -> HistoryOut:
    """All versions of a memory and all that they took the place of, by the id of any of them."""
    return HistoryOut.of(await service.memory_history(content_hash))


@router.post("/memories/{content_hash}/restore", responses=problems(404, 409, 507))
async def restore_memory(content_hash: ContentHash, service: Service) -> MemoryOut:
    """Bring a memory back from the trash, as it was; if its text was stored again meanwhile, the two are united."""
    return MemoryOut.of(await service.restore_memory(content_hash))


@router.get("/trash", responses=problems())
async def list_trash(
    service: Service, page: Annotated[Page, Query()] = 1, page_size: Annotated[PageSize, Query()] = 10
) -> ListOut:
    """What was deleted and can be restored, newest first."""
    return ListOut.of(await service.list_trash(page, page_size))


@router.post("/memories/delete", responses=problems(409, 507))
async def delete_memories(body: DeleteMatchingIn, service: Service) -> BulkOut:
    """Put all memories that pass the filters into the trash. Without `expected_count` nothing is deleted: the answer
    says how many match. With it they are deleted if so many match, else the answer is 409 `count_changed`."""
    return BulkOut.of(await service.delete_matching(body.request(), body.expected_count))


@router.post("/memories/retag", responses=problems(409, 507))
async def retag_memories(body: RetagIn, service: Service) -> BulkOut:
    """Add tags to all memories that pass the filters and remove others; `expected_count` as for a deletion."""
    return BulkOut.of(
        await service.retag_matching(body.request(), body.add_tags, body.remove_tags, body.expected_count)
    )


@router.post("/memories/context", responses=problems())
async def recall_context(body: ContextIn, service: Service) -> ContextOut:
    """What an agent should know before it begins: the pinned memories, and what a query finds beside them, or the
    newest."""
    return ContextOut.of(await service.recall_context(body.query))


@router.get("/overview", responses=problems())
async def overview(service: Service) -> OverviewOut:
    """What there is: counts, the commonest tags, the newest memories, and what searches do without."""
    return OverviewOut.of(await service.overview())
