"""Searches of code that follow its graph: callers, dependencies and what is related, in steps of 0.8."""

from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.integration.code_stores import StoreName, opened_store
from tests.support.code import names, store_code, symbol
from tests.support.fakes import WordEmbedder, counted, in_front_of, partly_broken

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.hybrid_search import GRAPH, Vote
from mcp_memory_service.models import EdgeKind, GraphExpansion, GraphStrategy, MemoryDraft, SearchRequest
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.services.search.results import Hit
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store

# handle -> login -> verify -> digest, and main calls itself and handle.
CALLS = {
    "app.main": ("app.main", "app.handle"),
    "app.handle": ("app.login",),
    "app.login": ("app.verify",),
    "app.verify": ("app.digest",),
    "app.other": ("app.digest", "app.gone"),
}
TEXTS = {
    "app.main": "starts",
    "app.handle": "answers requests",
    "app.login": "compares a password",
    "app.verify": "looks twice",
    "app.digest": "makes bytes of it",
    "app.other": "unrelated",
}
SYMBOLS = [symbol(name, text, lines=(line, line)) for line, (name, text) in enumerate(TEXTS.items(), start=1)]
QUERY = "compares password"


@pytest.fixture(params=["memory", "sqlite", "indexed"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store, None]:
    name: StoreName = request.param
    async with opened_store(name, tmp_path) as store:
        await store_code(store, SYMBOLS, CALLS)
        yield store


async def expanded(
    store: Store, strategy: GraphStrategy | None, depth: int = 1, query: str = QUERY, **asked: object
) -> SearchResult:
    """By words alone, so that but for the graph one symbol is found."""
    expansion = GraphExpansion(strategy, depth) if strategy else None
    options: dict[str, object] = {"kinds": ("code",), "mode": "keyword", **asked}
    request = SearchRequest(query, graph_expansion=expansion, **options)  # pyright: ignore[reportArgumentType]
    return await MemoryService(store, WordEmbedder()).search(request)


def distances(found: SearchResult) -> dict[str, int]:
    """Of what the graph has found."""
    return {hit.memory.anchor or "": distance_of(hit) for hit in found.results if GRAPH in hit.provenance}


def distance_of(hit: Hit) -> int:
    vote: Vote = hit.provenance[GRAPH]
    return vote.route.distance if vote.route else 0


@pytest.mark.parametrize("strategy", [None, "none"])
async def test_nothing_of_code_is_followed_unless_it_is_asked_for(app: Store, strategy: GraphStrategy | None):
    assert names(await expanded(app, strategy)) == ["app.login"]


async def test_callers_are_found_as_deep_as_is_asked(app: Store):
    assert distances(await expanded(app, "callers")) == {"app.handle": 1}
    assert distances(await expanded(app, "callers", 2)) == {"app.handle": 1, "app.main": 2}
    assert names(await expanded(app, "callers", 2)) == ["app.login", "app.handle", "app.main"]


async def test_dependencies_are_found_the_other_way(app: Store):
    assert distances(await expanded(app, "dependencies", 2)) == {"app.verify": 1, "app.digest": 2}


async def test_related_is_what_is_around_either_way(app: Store):
    assert distances(await expanded(app, "related")) == {"app.handle": 1, "app.verify": 1}
    around = distances(await expanded(app, "related", 3))
    assert around == {"app.handle": 1, "app.verify": 1, "app.main": 2, "app.digest": 2, "app.other": 3}


async def test_each_edge_away_is_worth_less(app: Store):
    found = await expanded(app, "callers", 3)
    assert [hit.score for hit in found.results] == pytest.approx([1.0, 0.8, 0.64])


async def test_an_unsure_edge_is_worth_less_than_a_sure_one(store: MemoryStore):
    await store_code(store, SYMBOLS, CALLS, certainty="guess")
    found = await expanded(store, "callers", 2)
    assert [hit.score for hit in found.results] == pytest.approx([1.0, 0.8 * 0.3, (0.8 * 0.3) ** 2])


@pytest.mark.parametrize(
    ("kind", "strategies"),
    [
        ("calls", {"callers", "dependencies", "related"}),
        ("references", {"callers", "dependencies", "related"}),
        ("imports", {"dependencies", "related"}),
        ("inherits", {"dependencies", "related"}),
        ("overrides", {"dependencies", "related"}),
        ("contains", {"related"}),
        ("tests", {"related"}),
    ],
)
async def test_a_strategy_follows_the_edges_that_it_means(store: MemoryStore, kind: EdgeKind, strategies: set[str]):
    await store_code(store, SYMBOLS, CALLS, kind=kind)
    followed = {each for each in ("callers", "dependencies", "related") if distances(await expanded(store, each))}
    assert followed == strategies


async def test_cycles_end_and_nobody_comes_twice(app: Store):
    found = names(await expanded(app, "related", 5, query="starts"))
    assert len(found) == len(set(found)) == len(SYMBOLS)


async def test_filters_hold_for_what_the_graph_finds(app: Store):
    assert names(await expanded(app, "callers", 2, types=("class",))) == []
    narrow = await expanded(app, "related", 2, tags=("nobody",), tag_match="all")
    assert narrow.results == ()


async def test_what_words_and_graph_have_found_has_both_votes(app: Store):
    found = await expanded(app, "callers", query="compares password answers")
    both = next(hit for hit in found.results if hit.memory.anchor == "app.handle")
    assert both.provenance.keys() == {"keyword", "graph"}
    assert distance_of(both) == 1


async def test_a_search_by_all_signals_expands_as_well(app: Store):
    found = await expanded(app, "callers", 2, query="login", mode="hybrid", min_similarity=0.9)
    assert names(found)[0] == "app.login"
    assert {"app.handle", "app.main"} <= set(names(found))


async def test_an_expansion_reads_the_graph_once_for_each_step(store: MemoryStore):
    await store_code(store, SYMBOLS, CALLS)
    calls: Counter[str] = Counter()
    front = in_front_of(store, linked=counted(store.linked, calls))
    await expanded(front, "callers", 5)
    assert calls["linked"] <= 4  # the third step leads nowhere
    calls.clear()
    await expanded(front, None)
    assert not calls


async def test_a_graph_that_does_not_answer_is_told(store: MemoryStore):
    await store_code(store, SYMBOLS, CALLS)
    found = await expanded(partly_broken(store, "linked"), "callers")
    assert (names(found), found.degraded) == (["app.login"], ("graph_unavailable",))


async def test_an_expansion_has_a_least_and_a_greatest_depth(store: MemoryStore):
    for depth in (0, 6, -1):
        with pytest.raises(InvalidInput, match="depth of graph_expansion must be 1 to 5"):
            await expanded(store, "callers", depth)


async def test_links_of_notes_are_followed_where_a_search_asks_for_it(store: MemoryStore):
    service = MemoryService(store, WordEmbedder())
    await service.store_batch([MemoryDraft("the tunnel plan"), MemoryDraft("another matter")])
    found = await service.search(SearchRequest("tunnel", graph_expansion=GraphExpansion("related", 2)))
    assert names(found)[0] == "the tunnel plan"
