"""The tag list is kept until it changes, for a minute at the most."""

from collections import Counter

import pytest
from tests.support.fakes import WordEmbedder, counted, in_front_of

from mcp_memory_service.models import MemoryDraft, MemoryPatch, TagCount
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.search.cached_inputs import TAGS_KEPT_SECONDS, TagCache
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store


@pytest.fixture
def seconds() -> list[float]:
    return [0.0]


@pytest.fixture
def calls() -> Counter[str]:
    return Counter()


@pytest.fixture
def counting(store: MemoryStore, calls: Counter[str]) -> Store:
    return in_front_of(store, get_all_tags=counted(store.get_all_tags, calls))


async def test_the_list_is_asked_for_once_a_minute(counting: Store, calls: Counter[str], seconds: list[float]):
    cache = TagCache(counting, "default", lambda: seconds[0])
    for moment in (0.0, 1.0, TAGS_KEPT_SECONDS - 0.1):
        seconds[0] = moment
        await cache.tags()
    assert calls["get_all_tags"] == 1
    seconds[0] = TAGS_KEPT_SECONDS
    await cache.tags()
    assert calls["get_all_tags"] == 2


async def test_every_write_of_this_process_shows_at_once(counting: Store, calls: Counter[str], seconds: list[float]):
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
    asked = calls["get_all_tags"]
    await keywords()
    assert calls["get_all_tags"] == asked


async def test_a_list_that_was_overtaken_by_a_write_is_not_kept(store: MemoryStore, seconds: list[float]):
    async def overtaken(namespace: str) -> list[TagCount]:
        cache.forget()
        return await store.get_all_tags(namespace)

    cache = TagCache(in_front_of(store, get_all_tags=overtaken), "default", lambda: seconds[0])
    await cache.tags()
    assert cache.remembered() is None
