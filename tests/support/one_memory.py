"""One memory at a time, for tests."""

from mcp_memory_service.models import EmbeddedMemory, Memory, StoreOutcome
from mcp_memory_service.storage.ports import MemoryWrites, SearchReads


async def store_one(store: MemoryWrites, item: EmbeddedMemory) -> StoreOutcome:
    return (await store.store_batch([item]))[0]


async def get_one(store: SearchReads, namespace: str, content_hash: str) -> Memory | None:
    found = await store.get_many(namespace, [content_hash])
    return found[0] if found else None
