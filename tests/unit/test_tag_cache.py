"""The tag list is kept until it changes, for a minute at the most."""

import pytest
from tests.support.fakes import PartlyBrokenStorage, WordEmbedder

from mcp_memory_service.models import MemoryDraft, MemoryPatch, TagCount
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.search.tag_cache import CACHE_SECONDS, TagCache
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage


class CountingStorage(PartlyBrokenStorage):
    def __init__(self, storage: SqliteVecStorage) -> None:
        super().__init__(storage)
        self.asked = 0

    async def get_all_tags(self, namespace: str) -> list[TagCount]:
        self.asked += 1
        return await super().get_all_tags(namespace)


@pytest.fixture
def seconds() -> list[float]:
    return [0.0]


@pytest.fixture
def counting(storage: SqliteVecStorage) -> CountingStorage:
    return CountingStorage(storage)


async def test_the_list_is_asked_for_once_a_minute(counting: CountingStorage, seconds: list[float]):
    cache = TagCache(counting, "default", lambda: seconds[0])
    for moment in (0.0, 1.0, CACHE_SECONDS - 0.1):
        seconds[0] = moment
        await cache.tags()
    assert counting.asked == 1
    seconds[0] = CACHE_SECONDS
    await cache.tags()
    assert counting.asked == 2


async def test_every_write_of_this_process_shows_at_once(counting: CountingStorage, seconds: list[float]):
    service = MemoryService(counting, WordEmbedder(), monotonic_seconds=lambda: seconds[0])

    async def keywords() -> tuple[str, ...]:
        return (await service.retrieve_memories("alpha beta gamma")).keywords

    stored = await service.store_memory(MemoryDraft("first", tags=("alpha",)))
    assert await keywords() == ("alpha",)
    await service.store_memory(MemoryDraft("second", tags=("beta",)))
    assert await keywords() == ("alpha", "beta")
    await service.update_memory(stored.memory.content_hash, MemoryPatch(tags=("gamma",)))
    assert await keywords() == ("beta", "gamma")
    await service.delete_memory(stored.memory.content_hash)
    assert await keywords() == ("beta",)
    asked = counting.asked
    await keywords()
    assert counting.asked == asked


async def test_a_list_that_was_overtaken_by_a_write_is_not_kept(counting: CountingStorage, seconds: list[float]):
    cache = TagCache(counting, "default", lambda: seconds[0])

    class Overtaken(CountingStorage):
        async def get_all_tags(self, namespace: str) -> list[TagCount]:
            cache.forget()
            return await super().get_all_tags(namespace)

    cache._storage = Overtaken(counting)
    await cache.tags()
    assert cache._known is None
