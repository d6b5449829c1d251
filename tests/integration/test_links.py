"""Links through the service and through every door: an answer that shares no word with the query is found by them."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.integration.conftest import Finished, rest_client
from tests.support.fakes import WordEmbedder, counted, in_front_of, partly_broken
from tests.support.mcp_answers import good_text, shown_memories
from tests.support.notes import contents, store_notes

from mcp_memory_service.bootstrap import open_backends, open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.hybrid_search import GRAPH, RankingPolicy
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.models import Edge, EdgeKind, MemoryDraft, SearchRequest, content_hash
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store

NOW = 1_000_000_000_000_000
UNLINKED = RankingPolicy(graph_weight=0.0)
QUERY = "which host answers the rathole tunnel"
ASKED = "The rathole tunnel is answered by the host that Zeta keeps"
ANSWER = "Kept since March: machine 17 in the cellar"
FILLER = [f"Host {number} of the tunnel fleet answers at noon, see the list of hosts" for number in range(40)]


def edge(origin: str, target: str, kind: EdgeKind = "link", weight: float = 1.0) -> Edge:
    return Edge(content_hash(origin), content_hash(target), kind, weight, by_name=False)


def searching(store: Store, policy: RankingPolicy | None = None) -> MemoryService:
    """At one moment, so that age makes no difference between two searches."""
    return MemoryService(store, WordEmbedder(), policy, now=lambda: NOW)


async def stored(store: MemoryStore, *edges: Edge, policy: RankingPolicy | None = None) -> MemoryService:
    service = searching(store, policy)
    await service.store_batch([MemoryDraft(text) for text in (ASKED, ANSWER, *FILLER)])
    await store.add_edges("default", edges)
    return service


# --- through the service


async def test_what_the_best_points_at_is_found_and_says_why(store: MemoryStore):
    service = await stored(store, edge(ASKED, ANSWER))
    assert contents(await service.retrieve_memories(QUERY))[:2] == [ASKED, ANSWER]
    found = await service.search(SearchRequest(QUERY, debug=True))
    vote, debug = found.results[1].provenance[GRAPH], found.results[1].debug
    assert debug is not None
    assert vote.route == (content_hash(ASKED), "link", "out", 1)
    total = sum(each.contribution for each in debug.contributions.values())
    assert debug.final_score == pytest.approx(total * debug.recency_factor)


async def test_what_points_at_the_best_is_found_less_surely(store: MemoryStore):
    service = await stored(store, edge(ANSWER, ASKED))
    found = await service.search(SearchRequest(QUERY, page_size=50))
    place = contents(found).index(ANSWER)
    assert found.results[place].provenance[GRAPH].route == (content_hash(ASKED), "link", "back", 1)
    unlinked = await searching(store, UNLINKED).search(SearchRequest(QUERY, page_size=50))
    assert place < contents(unlinked).index(ANSWER)


async def test_without_weight_the_answer_is_as_without_links(store: MemoryStore):
    without = await (await stored(store)).search(SearchRequest(QUERY, debug=True))
    service = await stored(store, edge(ASKED, ANSWER), policy=UNLINKED)
    assert (await service.search(SearchRequest(QUERY, debug=True))).results == without.results


async def test_links_of_others_and_supersedes_change_nothing(store: MemoryStore):
    without = await (await stored(store)).search(SearchRequest(QUERY, debug=True))
    unknown = Edge(content_hash(ASKED), "note:nowhere", "link", by_name=True)
    service = await stored(store, edge(ASKED, ANSWER, "supersedes"), unknown)
    assert (await service.search(SearchRequest(QUERY, debug=True))).results == without.results


async def test_filters_hold_for_what_is_linked(store: MemoryStore):
    service = await stored(store, edge(ASKED, ANSWER))
    await service.store_memory(MemoryDraft(ASKED, tags=("kept",)))
    assert contents(await service.retrieve_memories(QUERY, tags=("kept",))) == [ASKED]


async def test_what_no_signal_found_is_brought_in_unless_a_similarity_is_asked_for(store: MemoryStore):
    policy = RankingPolicy(ranking_window=10)
    service = await stored(store, edge(ASKED, ANSWER), policy=policy)
    found = await service.retrieve_memories(QUERY)
    assert contents(found)[1] == ANSWER
    assert set(found.results[1].provenance) == {GRAPH}
    assert ANSWER not in contents(await service.search(SearchRequest(QUERY, page_size=50, min_similarity=0.1)))


@pytest.mark.parametrize("asked", [{"mode": "semantic"}, {"mode": "keyword"}, {"alpha": 1.0}, {"alpha": 0.0}])
async def test_a_signal_that_is_asked_alone_follows_no_links(store: MemoryStore, asked: dict[str, Any]):
    service = await stored(store, edge(ASKED, ANSWER))
    found = await service.search(SearchRequest(QUERY, page_size=50, **asked))
    assert all(GRAPH not in hit.provenance for hit in found.results)


async def test_ranks_take_the_form_that_keeps_their_distances(store: MemoryStore):
    service = await stored(store, edge(ASKED, ANSWER), policy=RankingPolicy(fusion="rrf"))
    assert all(GRAPH not in hit.provenance for hit in (await service.retrieve_memories(ASKED)).results)
    lifted = searching(store, RankingPolicy(fusion="rrf", graph_form="decay"))
    found = await lifted.search(SearchRequest(ASKED, page_size=50))
    answer = found.results[contents(found).index(ANSWER)]
    assert answer.provenance[GRAPH].route == (content_hash(ASKED), "link", "out", 1)


async def test_two_hops_reach_what_one_does_not(store: MemoryStore):
    policy = RankingPolicy(graph_form="decay", graph_hops=2, ranking_window=10)
    further = "and its key hangs beside the door"
    await searching(store).store_memory(MemoryDraft(further))
    service = await stored(store, edge(ASKED, ANSWER), edge(ANSWER, further), policy=policy)
    found = await service.search(SearchRequest(QUERY, page_size=50))
    hit = found.results[contents(found).index(further)]
    assert hit.provenance[GRAPH].route == (content_hash(ANSWER), "link", "out", 2)


async def test_links_down_keeps_what_was_found(store: MemoryStore):
    await stored(store, edge(ASKED, ANSWER))
    found = await searching(partly_broken(store, "linked")).retrieve_memories(QUERY)
    assert found.degraded == ("graph_unavailable",)
    assert contents(found)[0] == ASKED


async def test_an_explanation_says_through_which_link(store: MemoryStore):
    service = await stored(store, edge(ASKED, ANSWER))
    explained = await service.explain(SearchRequest(QUERY), content_hash(ANSWER))
    assert explained.rank == 2
    assert explained.signals[GRAPH].route == (content_hash(ASKED), "link", "out", 1)
    behind = await service.explain(SearchRequest(QUERY), content_hash(FILLER[0]))
    assert [(each.memory.content, GRAPH in each.contributions) for each in behind.outranked_by][:2] == [
        (ASKED, False),
        (ANSWER, True),
    ]


async def test_history_is_searched_with_links_too(store: MemoryStore):
    service = await stored(store, edge(ASKED, ANSWER))
    found = await service.search(SearchRequest(QUERY, include_superseded=True))
    assert contents(found)[:2] == [ASKED, ANSWER]


async def test_where_nothing_is_linked_links_are_asked_once_and_change_nothing(store: MemoryStore):
    calls: Counter[str] = Counter()
    service = searching(in_front_of(store, linked=counted(store.linked, calls)))
    await store_notes(service)
    found = await service.search(SearchRequest("topic 3 note", debug=True))
    assert found.results == (await searching(store, UNLINKED).search(SearchRequest("topic 3 note", debug=True))).results
    assert calls["linked"] == 1


# --- through every door, with the real model

NOTES = [
    "Project Meridian is led by the keeper of the northern depot",
    "Ingrid Solberg: room 4, Tromsø, phone 1177",
    *(f"Project {name} is led by whoever its charter names" for name in ("Aster", "Basalt", "Cirrus", "Dune", "Elm")),
    *(f"Project plan of Meridian, milestone {number}: cables and crates" for number in range(1, 7)),
    *(f"Floor {number}: printers, keys and fire doors" for number in range(1, 30)),
]
QUESTION = "who is the lead of project Meridian"


@pytest.fixture
async def linked_file(tmp_path: Path) -> Path:
    path = tmp_path / "cli.db"
    settings = load_settings({"sqlite_path": path})
    async with open_service(settings) as service:
        await service.store_batch([MemoryDraft(text) for text in NOTES])
    async with open_backends(settings) as (storage, _):
        await storage.add_edges("default", [edge(NOTES[0], NOTES[1])])
    return path


def test_rest_finds_and_explains_what_is_linked(linked_file: Path, monkeypatch: pytest.MonkeyPatch):
    through = {"content_hash": content_hash(NOTES[0]), "kind": "link", "direction": "out"}
    with rest_client(linked_file) as client:
        found = client.post("/memories/retrieve", json={"query": QUESTION, "debug": True}).json()["results"]
        places = {hit["memory"]["content"]: hit for hit in found}
        hit = places[NOTES[1]]
        assert list(places).index(NOTES[1]) < 8
        assert not {"vector", "keyword"} <= set(hit["provenance"])
        assert (hit["provenance"]["graph"]["distance_in_graph"], hit["provenance"]["graph"]["through"]) == (1, through)
        assert (hit["debug"]["distance_in_graph"], hit["debug"]["through"]) == (1, through)
        debug = hit["debug"]
        parts = [debug[part] for part in ("vector_rrf", "tag_boost", "keyword_rrf", "neighbour_boost", "graph_boost")]
        factors = debug["recency_factor"] * debug["time_factor"] * debug["update_factor"]
        assert debug["final_score"] == pytest.approx(sum(parts) * factors)
        plain = places[NOTES[-30]]
        assert "through" not in plain["provenance"]["vector"]
        assert "through" not in plain["debug"]
        request = {"query": QUESTION, "content_hash": content_hash(NOTES[1])}
        explained = client.post("/memories/explain", json=request).json()
        assert explained["signals"]["graph"]["through"] == through
    monkeypatch.setenv("MCP_MEMORY_GRAPH_WEIGHT", "0")
    with rest_client(linked_file) as client:
        found = client.post("/memories/retrieve", json={"query": QUESTION}).json()["results"]
    assert NOTES[1] not in [hit["memory"]["content"] for hit in found]


async def test_mcp_finds_and_explains_what_is_linked(linked_file: Path):
    async with open_service(load_settings({"sqlite_path": linked_file})) as service:
        server = build_mcp_server(service, 5_000)
        async with Client(server) as client:
            found = shown_memories(good_text(await client.call_tool("retrieve_memory", {"query": QUESTION})))
            explained = await client.call_tool("explain_memory", {"query": QUESTION, "id": content_hash(NOTES[1])})
    heads = {each.content: each.head for each in found}
    way = f"(link from {content_hash(NOTES[0])[:12]})"
    assert way in heads[NOTES[1]]
    assert "link" not in heads[NOTES[0]]
    assert way in good_text(explained)


def test_the_command_line_finds_and_explains_what_is_linked(linked_file: Path, run_cli: Callable[..., Finished]):
    assert linked_file.exists()
    way = f"(link from {content_hash(NOTES[0])[:12]})"
    shown = run_cli("search", QUESTION, "--debug")
    assert (shown.code, NOTES[1] in shown.out, way in shown.out) == (0, True, True), shown.err
    assert " + graph 0." in shown.out
    explained = run_cli("search", QUESTION, "--explain", content_hash(NOTES[1]))
    assert way in explained.out, explained.err
    listed = json.loads(run_cli("search", QUESTION, "--json").out)["results"]
    hit = next(each for each in listed if each["memory"]["content"] == NOTES[1])
    assert hit["provenance"]["graph"]["through"]["direction"] == "out"
