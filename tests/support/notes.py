"""Notes that several tests search in."""

from mcp_memory_service.models import MemoryDraft
from mcp_memory_service.services import MemoryService, SearchResult


async def store_notes(service: MemoryService, count: int = 25) -> None:
    await service.store_batch(
        [MemoryDraft(f"note {i} about topic {i % 5}", tags=(f"topic-{i % 5}", "note")) for i in range(count)]
    )


def contents(found: SearchResult) -> list[str]:
    return [hit.memory.content for hit in found.results]
