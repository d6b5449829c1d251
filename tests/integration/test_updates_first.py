"""Of two notes of one fact the newer comes first, through the service."""

import pytest
from tests.support.fakes import WordEmbedder
from tests.support.notes import contents

from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.models import MemoryDraft, SearchRequest, content_hash
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

NOW = 20_000 * MICROSECONDS_PER_DAY
OLD = "tunnel control port is 2333"
NEW = "tunnel control port is 4477 now, moved"
ASKED = "tunnel control port"


async def stored(store: MemoryStore, policy: RankingPolicy | None = None) -> MemoryService:
    service = MemoryService(store, WordEmbedder(), policy or RankingPolicy(), now=lambda: NOW)
    ages = {OLD: 300, NEW: 100} | {f"lunch of day {day}": day for day in range(20)}
    for content, days in ages.items():
        await service.store_memory(MemoryDraft(content, created_at=NOW - days * MICROSECONDS_PER_DAY))
    return service


@pytest.mark.parametrize(
    ("query", "first"),
    [(ASKED, NEW), (f"{ASKED} originally", OLD), (f"{ASKED} {300} days ago", OLD), (f"the current {ASKED}", NEW)],
)
async def test_an_update_comes_first_unless_the_past_is_asked_for(store: MemoryStore, query: str, first: str):
    service = await stored(store)
    assert contents(await service.search(SearchRequest(query)))[0] == first


async def test_an_update_stays_behind_where_age_does_not_count(store: MemoryStore):
    service = await stored(store, RankingPolicy(recency_decay=0.0))
    assert contents(await service.search(SearchRequest(ASKED)))[:2] == [OLD, NEW]
    for mode in ("semantic", "keyword"):
        alone = await service.search(SearchRequest(ASKED, mode=mode))  # pyright: ignore[reportArgumentType]
        assert contents(alone)[0] == OLD, "the order of one signal stays as it is"


async def test_an_update_comes_first_where_age_counts_in_tiers(store: MemoryStore):
    service = await stored(store, RankingPolicy(recency="tiers", recency_decay=0.0))
    assert contents(await service.search(SearchRequest(ASKED)))[0] == NEW


async def test_the_arithmetic_tells_of_an_update(store: MemoryStore):
    service = await stored(store)
    request = SearchRequest(ASKED, debug=True)
    first, second = (await service.search(request)).results[:2]
    for hit in (first, second):
        debug = hit.debug
        assert debug is not None
        parts = sum(vote.contribution for vote in debug.contributions.values())
        assert debug.final_score == pytest.approx(parts * debug.recency_factor * debug.update_factor)
        explained = await service.explain(request, hit.memory.content_hash)
        assert explained.update_factor == debug.update_factor
    assert first.debug is not None
    assert second.debug is not None
    assert first.debug.update_factor > 1.0 == second.debug.update_factor
    assert first.score == second.score == 1.0
    assert (await service.explain(request, content_hash(NEW))).rank == 1


async def test_pages_go_on_where_the_last_one_ended(store: MemoryStore):
    service = await stored(store)
    whole = contents(await service.search(SearchRequest(ASKED, page_size=100)))
    paged = [
        content
        for page in range(1, 23)
        for content in contents(await service.search(SearchRequest(ASKED, page=page, page_size=1)))
    ]
    assert paged == whole
    assert len(set(whole)) == 22
