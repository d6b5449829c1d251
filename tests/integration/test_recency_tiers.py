"""Recency in tiers, through REST and the service."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.integration.conftest import rest_client
from tests.support.fakes import WordEmbedder

from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.models import MemoryDraft, SearchRequest
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY, to_microseconds

TIERS = RankingPolicy(recency="tiers")


def test_every_hit_tells_the_factor_of_its_tier_and_the_best_scores_1(tmp_path: Path):
    with rest_client(tmp_path / "tiers.db", recency="tiers") as rest:
        now = datetime.now(UTC)
        for days in (1, 20, 90):
            created_at = (now - timedelta(days=days)).isoformat()
            rest.post("/memories", json={"content": f"The tunnel port, note {days}", "created_at": created_at})
        found = rest.post("/memories/retrieve", json={"query": "tunnel port", "debug": True}).json()["results"]
    factors = {hit["memory"]["content"]: hit["debug"]["recency_factor"] for hit in found}
    assert factors == {f"The tunnel port, note {days}": factor for days, factor in ((1, 1.2), (20, 1.1), (90, 1.0))}
    assert found[0]["score"] == 1.0
    assert all(0 <= hit["score"] <= 1 for hit in found)
    for debug in (hit["debug"] for hit in found):
        parts = debug["vector_rrf"] + debug["tag_boost"] + debug["keyword_rrf"] + debug["neighbour_boost"]
        assert debug["final_score"] == pytest.approx(parts * debug["recency_factor"] * debug["update_factor"])


async def test_a_time_that_the_query_names_counts_in_place_of_the_tiers(store: MemoryStore):
    now = to_microseconds(datetime(2026, 9, 1, tzinfo=UTC))
    service = MemoryService(store, WordEmbedder(), TIERS, now=lambda: now)
    drafts = {"old": datetime(2026, 5, 10, tzinfo=UTC), "new": datetime(2026, 8, 30, tzinfo=UTC)}
    await service.store_batch(
        [MemoryDraft(f"tunnel port {name}", created_at=to_microseconds(date)) for name, date in drafts.items()]
    )
    found = await service.search(SearchRequest("tunnel port in May 2026", debug=True))
    assert [hit.memory.content for hit in found.results] == ["tunnel port old", "tunnel port new"]
    assert [hit.debug.recency_factor for hit in found.results if hit.debug] == [1.0, 1.0]
    assert [hit.debug.time_factor < 1 for hit in found.results if hit.debug] == [False, True]


async def test_one_signal_alone_keeps_its_order(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), TIERS, now=lambda: 400 * MICROSECONDS_PER_DAY)
    await service.store_batch(
        [
            MemoryDraft("tunnel port", created_at=0),
            MemoryDraft("tunnel port and more words of today", created_at=400 * MICROSECONDS_PER_DAY),
        ]
    )
    found = await service.search(SearchRequest("tunnel port", mode="semantic", debug=True))
    assert found.results[0].memory.content == "tunnel port"
    assert {hit.debug.recency_factor for hit in found.results if hit.debug} == {1.0}
