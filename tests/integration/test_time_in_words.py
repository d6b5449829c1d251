"""Time in words through every door, and queries that name a time."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from mcp import Client
from starlette.testclient import TestClient
from tests.integration.conftest import Finished, rest_client
from tests.support.fakes import WordEmbedder
from tests.support.notes import contents

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.models import ListRequest, MemoryDraft, SearchRequest, content_hash
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY, to_microseconds

NOW = to_microseconds(datetime(2026, 6, 3, 12, 0, tzinfo=UTC))
BUDGET = 5_000


def at(day: str) -> int:
    return to_microseconds(datetime.fromisoformat(day))


@pytest.fixture
async def dated(store: MemoryStore) -> MemoryService:
    """Three notes of the same words; as many dots as months tell them apart."""
    service = MemoryService(store, WordEmbedder(), now=lambda: NOW)
    for month in ("2025-09", "2026-03", "2026-05"):
        await service.store_memory(MemoryDraft(f"VAT decision{'.' * int(month[-2:])}", created_at=at(f"{month}-11")))
    return service


async def listed(service: MemoryService, **filters: Any) -> list[int]:
    return [memory.content.count(".") for memory in (await service.list_memories(ListRequest(**filters))).memories]


def months(found: SearchResult) -> list[int]:
    return [content.count(".") for content in contents(found)]


async def test_filters_take_words(dated: MemoryService):
    assert await listed(dated, after="2026-03") == [5, 3]
    assert await listed(dated, before="2026-03") == [9], "before March began"
    assert await listed(dated, after="4 weeks ago") == [5]
    assert await listed(dated, after="30d", before="yesterday") == [5]
    assert await listed(dated, after=at("2026-03-11"), before="May 2026") == [3]
    found = await dated.search(SearchRequest("VAT decision", after="this year"))
    assert months(found) == [5, 3]
    assert (found.after, found.before) == (at("2026-01-01"), None)


async def test_what_is_no_time_is_refused_with_examples(dated: MemoryService):
    for field, request in (("after", ListRequest(after="soon")), ("before", ListRequest(before="soon"))):
        with pytest.raises(InvalidInput, match=f"{field} must be a time, such as .*last week, 7d") as refused:
            await dated.list_memories(request)
        assert (refused.value.code, refused.value.field) == ("time_not_understood", field)


async def test_an_expiry_in_words_lies_ahead(dated: MemoryService):
    stored = await dated.store_memory(MemoryDraft("the code of the door", expires_at="30d"))
    assert stored.memory.expires_at == NOW + 30 * MICROSECONDS_PER_DAY
    with pytest.raises(InvalidInput, match=r"expires_at must be a time, such as .*in 2 weeks"):
        await dated.store_memory(MemoryDraft("the code of the gate", expires_at="some day"))


async def test_words_are_read_in_the_zone_of_the_service(store: MemoryStore):
    midnight = to_microseconds(datetime(2026, 6, 3, 22, 30, tzinfo=UTC))  # in Berlin it is the 4th already
    berlin = MemoryService(store, WordEmbedder(), now=lambda: midnight, zone=ZoneInfo("Europe/Berlin"))
    listing = await berlin.within("elsewhere").list_memories(ListRequest(after="today", before="2026-06-05T00:00"))
    assert listing.after == to_microseconds(datetime(2026, 6, 3, 22, 0, tzinfo=UTC))
    assert listing.before == to_microseconds(datetime(2026, 6, 4, 22, 0, tzinfo=UTC))
    found = await berlin.search(SearchRequest("what came today"))
    assert found.time is not None
    assert found.time.start == listing.after


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("VAT decision in March", 3),
        ("VAT decision of September 2025", 9),
        ("VAT decision four weeks ago", 5),
        ("VAT decision before the spring", 9),
        ("latest VAT decision", 5),
        ("what was the first VAT decision", 9),
        ("VAT decision originally", 9),
        ("VAT decision", 5),
    ],
)
async def test_memories_of_the_time_that_a_query_names_come_first(dated: MemoryService, query: str, first: int):
    found = await dated.search(SearchRequest(query))
    assert months(found)[0] == first
    assert len(found.results) == 3, "the others stay"


async def test_the_time_that_a_query_names_is_told_and_can_be_switched_off(dated: MemoryService, store: MemoryStore):
    found = await dated.search(SearchRequest("VAT decision in March"))
    assert found.time is not None
    assert (found.time.text, found.time.start, found.time.end) == ("in March", at("2026-03-01"), at("2026-04-01"))
    off = MemoryService(store, WordEmbedder(), RankingPolicy(query_dates=False), now=lambda: NOW)
    plain = await off.search(SearchRequest("VAT decision in March"))
    assert plain.time is None
    assert months(plain)[0] == 5, "the newest of equals"
    for mode in ("semantic", "keyword"):
        alone = await dated.search(SearchRequest("VAT decision in March", mode=mode))  # pyright: ignore[reportArgumentType]
        assert alone.time is None, "the order of one signal stays as it is"


async def test_the_arithmetic_adds_up_with_the_time_in_place_of_recency(dated: MemoryService):
    query = SearchRequest("VAT decision in September", debug=True)
    found = await dated.search(query)
    for hit in found.results:
        debug = hit.debug
        assert debug is not None
        parts = sum(vote.contribution for vote in debug.contributions.values())
        assert debug.recency_factor == 1.0
        assert debug.final_score == pytest.approx(parts * debug.time_factor)
        explained = await dated.explain(query, hit.memory.content_hash)
        assert explained.time == found.time
        assert (explained.recency_factor, explained.time_factor) == (1.0, debug.time_factor)
    factors = [hit.debug.time_factor for hit in found.results if hit.debug]
    assert factors[0] == 1.0
    assert all(0.4 <= factor < 0.41 for factor in factors[1:]), "never less than the floor: no filter"


def test_rest_takes_words_and_says_what_it_understood(rest: TestClient):
    rest.post("/memories", json={"content": "VAT decision", "created_at": "2025-03-05T00:00:00Z"})
    rest.post("/memories", json={"content": "VAT rates"})
    today = rest.get("/memories", params={"after": "today"}).json()
    assert [memory["content"] for memory in today["memories"]] == ["VAT rates"]
    assert today["after"].endswith("T00:00:00Z")
    assert rest.get("/memories?before=2026").json()["before"] == "2026-01-01T00:00:00Z"
    found = rest.post("/memories/retrieve", json={"query": "VAT in March 2025", "before": "7d", "debug": True}).json()
    assert [hit["memory"]["content"] for hit in found["results"]] == ["VAT decision"]
    understood = {
        "text": "March 2025",
        "wanted": "period",
        "after": "2025-03-01T00:00:00Z",
        "before": "2025-04-01T00:00:00Z",
    }
    assert found["time_understood"] == understood
    assert found["results"][0]["debug"]["time_factor"] == 1.0
    asked = {"query": "VAT in March 2025", "content_hash": content_hash("VAT decision")}
    assert rest.post("/memories/explain", json=asked).json()["time_understood"] == understood


@pytest.mark.parametrize("sent", ["soon", "1767225600", 1767225600, 2026, "31 February", True, ["today"]])
def test_rest_refuses_what_is_no_time_and_names_examples(rest: TestClient, sent: object):
    refused = rest.post("/memories/retrieve", json={"query": "x", "after": sent})
    assert refused.status_code == 422
    assert "last week" in refused.text


def test_the_settings_choose_the_zone_and_switch_dates_off(tmp_path: Path):
    with rest_client(tmp_path / "zone.db", time_zone="America/New_York", query_dates=False) as rest:
        rest.post("/memories", json={"content": "VAT decision"})
        assert rest.get("/memories?after=2026-01-01").json()["after"] == "2026-01-01T05:00:00Z"
        found = rest.post("/memories/retrieve", json={"query": "VAT decision in May 2026"}).json()
        assert found["time_understood"] is None


async def test_mcp_tools_take_words(dated: MemoryService):
    async with Client(build_mcp_server(dated, BUDGET)) as client:
        listing = await client.call_tool("list_memories", {"after": "2026-05"})
        assert "decision....." in str(listing.content)
        assert "1 memories" in str(listing.content)
        found = await client.call_tool("retrieve_memory", {"query": "VAT", "before": "last month"})
        assert "decision..." in str(found.content)
        assert "decision....." not in str(found.content).replace("decision.........", "")
        assert (await client.call_tool("list_memories", {"after": "soon"})).is_error


def test_the_command_line_takes_words_and_says_what_it_understood(run_cli: Callable[..., Finished]):
    assert run_cli("store", "VAT decision", "--created-at", "2025-03-05").code == 0
    found = run_cli("search", "VAT in March 2025", "--before", "last week", "--debug")
    assert 'Time understood: "March 2025", memories from 2025-03-01T00:00+00:00 to 2025-04-01' in found.out
    assert "Created before " in found.out
    assert "x time 1.0000" in found.out
    assert "the newest memories come first" in run_cli("search", "the latest VAT decision").out
    assert json.loads(run_cli("list", "--after", "7d", "--json").out)["total"] == 0
    refused = run_cli("list", "--after", "soon")
    assert (refused.code, refused.out) == (2, "")
    assert "after: " in refused.err
    assert "last week" in refused.err
