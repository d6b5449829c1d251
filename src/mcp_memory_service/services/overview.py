"""What there is in a namespace, and what a conversation begins with."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..models import ListRequest, SearchRequest, history_of, trash_of
from ..storage.ports import Store
from .outcomes import MAX_FOUND, MAX_OVERVIEW_TAGS, MAX_PINNED, MAX_RECENT, Context, Overview

if TYPE_CHECKING:
    from .memory_service import MemoryService


async def context_of(service: "MemoryService", query: str | None) -> Context:
    pinned = await service.list_memories(ListRequest(page_size=MAX_PINNED, pinned=True))
    found, recent = None, ()
    if query is not None:
        found = await service.search(SearchRequest(query, page_size=MAX_FOUND))
        known = {memory.content_hash for memory in pinned.memories}
        found = replace(found, results=tuple(hit for hit in found.results if hit.memory.content_hash not in known))
    else:
        recent = (await service.list_memories(ListRequest(page_size=MAX_RECENT, pinned=False))).memories
    return Context(pinned.memories, pinned.paging.total, found, recent)


async def overview_of(service: "MemoryService", storage: Store, namespace: str) -> Overview:
    """Counts, the commonest tags, the newest memories, and what searches do without."""
    one = ListRequest(page_size=1)
    return Overview(
        stats=await service.stats(),
        tags=tuple((await service.list_tags())[:MAX_OVERVIEW_TAGS]),
        recent=(await service.list_memories(ListRequest(page_size=MAX_RECENT))).memories,
        pinned=(await service.list_memories(replace(one, pinned=True))).paging.total,
        expired=(await service.list_memories(replace(one, expired=True))).paging.total,
        superseded=await storage.count_all_memories(history_of(namespace)),
        trashed=await storage.count_all_memories(trash_of(namespace)),
        degraded=storage.degraded,
    )
