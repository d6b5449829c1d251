"""Which kinds a search covers: code never unless it is asked for, with others in one ranking, or each by itself."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.code_stores import opened_store
from tests.support.code import look_alikes, names, store_code, symbol
from tests.support.fakes import WordEmbedder, counted, in_front_of, partly_broken
from tests.support.notes import store_notes
from tests.support.qdrant_target import collection_of

from mcp_memory_service.hybrid_search import RankingPolicy, indexed_text
from mcp_memory_service.models import (
    GraphExpansion,
    Memory,
    MemoryDraft,
    MemoryKind,
    SearchRequest,
    code_of,
)
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage

NOW = 1_700_000_000_000_000
BOTH: tuple[MemoryKind, ...] = ("memory", "code")
EVERY: tuple[MemoryKind, ...] = ("memory", "note", "code", "decision", "error")
READS = ("retrieve", "search_by_text", "search_by_tag", "corpus_statistics", "linked", "get_many", "resolve")


def searching(store: Any, policy: RankingPolicy | None = None) -> MemoryService:
    """At one moment, so that age makes no difference between two searches."""
    return MemoryService(store, WordEmbedder(), policy, now=lambda: NOW)


def without_time(found: SearchResult) -> SearchResult:
    return replace(found, took_ms=0.0)


# --- what is not asked for changes nothing


@pytest.mark.parametrize("name", ["memory", "sqlite", "indexed"])
async def test_plain_searches_are_to_the_bit_what_they_are_without_code(name: Any, tmp_path: Path):
    queries = ("topic 3 note", "check the token", "authenticate_user", "shop/part1.py:7", "nothing of it")
    kinds: list[tuple[MemoryKind, ...]] = [(), ("memory",), ("memory", "note", "decision", "error")]
    answers: list[list[SearchResult]] = []
    for count in (0, 300):
        async with opened_store(name, _folder(tmp_path, count)) as store:
            service = searching(store)
            await store_notes(service, 80)
            await store_code(store, look_alikes(count))
            if name == "indexed":
                await store.wait_ready()  # pyright: ignore[reportAttributeAccessIssue]
            requests = [SearchRequest(query, debug=True, kinds=each) for query in queries for each in kinds]
            answers.append([without_time(await service.search(request)) for request in requests])
    assert answers[0] == answers[1]


async def test_a_plain_search_asks_the_store_for_nothing_more(store: MemoryStore):
    calls: Counter[str] = Counter()
    service = searching(in_front_of(store, **{name: counted(getattr(store, name), calls) for name in READS}))
    await store_notes(service)
    await service.search(SearchRequest("topic 3 note"))
    calls.clear()
    await service.search(SearchRequest("topic 3 note"))
    before = calls.copy()
    await store_code(store, look_alikes(50))
    calls.clear()
    await service.search(SearchRequest("topic 3 note"))
    assert calls == before
    assert not calls["resolve"]


def _folder(parent: Path, count: int) -> Path:
    folder = parent / str(count)
    folder.mkdir()
    return folder


# --- one ranking of both

MEMORIES = [
    MemoryDraft("authenticate_user was made slower on purpose, against guessing", tags=("auth",)),
    MemoryDraft("the bakery opens at six"),
    MemoryDraft("decided to keep sessions for a week", tags=("auth", "sessions")),
    *(MemoryDraft(f"note {number} of the week") for number in range(20)),
]
CODE = [
    symbol("shop.auth.authenticate_user", "Check the password of a user, slower on purpose."),
    symbol("shop.auth.SessionStore", "Keeps sessions.", kind="class", lines=(3, 9)),
    *look_alikes(40),
]


@pytest.fixture
async def both(store: MemoryStore) -> MemoryService:
    service = searching(store)
    await service.store_batch(MEMORIES)
    await store_code(store, CODE)
    return service


async def test_memories_and_code_are_in_one_ranking(both: MemoryService):
    found = await both.search(SearchRequest("authenticate_user slower on purpose", kinds=BOTH))
    assert {hit.memory.kind for hit in found.results[:2]} == {"memory", "code"}
    assert found.paging.total > len(MEMORIES)


async def test_each_kind_keeps_the_order_that_it_has_alone(both: MemoryService):
    for query in ("authenticate_user slower", "sessions for a week", "check the token of an order"):
        merged = await both.search(SearchRequest(query, kinds=BOTH, page_size=100))
        for kind in BOTH:
            alone = await both.search(SearchRequest(query, kinds=(kind,), page_size=100))
            assert [h.memory for h in merged.results if h.memory.kind == kind] == [h.memory for h in alone.results]


async def test_what_answers_better_comes_first_of_whichever_kind_it_is(both: MemoryService):
    bakery = await both.search(SearchRequest("when does the bakery open", kinds=BOTH))
    assert bakery.results[0].memory.kind == "memory"
    load = await both.search(SearchRequest("load_user_user_0", kinds=BOTH))
    assert load.results[0].memory.anchor == "shop.part0.load_user_user_0"


async def test_the_arithmetic_of_a_merged_score_is_open(both: MemoryService):
    found = await both.search(SearchRequest("authenticate_user slower", kinds=BOTH, debug=True, page_size=50))
    best = found.results[0].debug
    assert best is not None
    assert len({hit.debug.kind_factor for hit in found.results if hit.debug}) == 2
    for hit in found.results:
        assert hit.debug is not None
        debug = hit.debug
        total = sum(vote.contribution for vote in debug.contributions.values())
        factors = debug.recency_factor * debug.kind_factor * debug.freshness_factor * debug.update_factor
        assert debug.final_score == pytest.approx(total * factors)
        assert hit.score == pytest.approx(debug.final_score / best.final_score)


async def test_where_one_of_both_has_nothing_the_other_is_as_it_is_alone(store: MemoryStore):
    service = searching(store)
    await service.store_batch(MEMORIES)
    alone = await service.search(SearchRequest("sessions", kinds=("memory",)))
    merged = await service.search(SearchRequest("sessions", kinds=BOTH))
    assert [(hit.memory, hit.score) for hit in merged.results] == [(hit.memory, hit.score) for hit in alone.results]
    assert merged.confidence == alone.confidence


async def test_what_was_superseded_is_found_beside_code(both: MemoryService):
    (old, *_) = (await both.search(SearchRequest("bakery"))).results
    await both.store_memory(MemoryDraft("the bakery opens at seven", supersedes=(old.memory.content_hash,)))
    found = await both.search(SearchRequest("bakery opens", kinds=BOTH, include_superseded=True))
    assert {"the bakery opens at six", "the bakery opens at seven"} <= set(names(found))


async def test_a_part_that_fails_is_told_of_both(both: MemoryService, store: MemoryStore):
    found = await searching(partly_broken(store, "retrieve")).search(SearchRequest("sessions", kinds=BOTH))
    assert "vector_search_unavailable" in found.degraded
    assert found.results
    names_broken = await searching(partly_broken(store, "resolve")).search(
        SearchRequest("authenticate_user", kinds=("code",))
    )
    assert names_broken.degraded == ("names_unavailable",)
    assert names_broken.results


# --- each kind by itself


async def test_each_kind_can_be_searched_by_itself(both: MemoryService):
    request = SearchRequest("sessions of a user", kinds=("code", "memory"), page_size=3, per_kind=True)
    found = await both.search(request)
    alone = [await both.search(replace(request, kinds=(kind,), per_kind=False)) for kind in ("code", "memory")]
    assert found.results == (*alone[0].results, *alone[1].results)
    assert found.totals == {"code": alone[0].paging.total, "memory": alone[1].paging.total}
    assert found.paging.total == sum(found.totals.values())


async def test_without_kinds_all_are_searched_one_after_the_other(both: MemoryService):
    found = await both.search(SearchRequest("sessions", per_kind=True))
    assert list(found.totals) == ["memory", "decision", "error", "note", "code"]
    assert {hit.memory.kind for hit in found.results} == {"memory", "code"}


async def test_pages_of_each_kind_go_on_until_the_longest_has_ended(both: MemoryService):
    request = SearchRequest("sessions of the user", kinds=BOTH, page_size=7, per_kind=True)
    pages = [await both.search(request)]
    while pages[-1].paging.has_more:
        pages.append(await both.search(replace(request, page=len(pages) + 1)))
    hashes = [hit.memory.content_hash for page in pages for hit in page.results]
    assert len(hashes) == len(set(hashes)) == pages[0].paging.total


# --- whatever is stored and asked

WORDS = ["tunnel", "cache", "port", "deploy", "größe", "node.js", "authenticate_user", "loadUser", "cache.py:3"]
drafts = st.builds(
    MemoryDraft,
    content=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    tags=st.lists(st.sampled_from(["rathole", "cache"]), max_size=2, unique=True).map(tuple),
    created_at=st.integers(0, NOW),
)
symbols = st.builds(
    symbol,
    st.sampled_from(["a.cache", "a.cache.loadUser", "a.b.authenticate_user", "b.loadUser", "b.port", "c.Cache.load"]),
    st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join),
    kind=st.sampled_from(["module", "function", "class"]),
    lines=st.tuples(st.integers(1, 5), st.integers(1, 9)),
)
searches = st.fixed_dictionaries(
    {"kinds": st.sampled_from([("code",), BOTH, EVERY])},
    optional={
        "mode": st.sampled_from(["hybrid", "semantic", "keyword"]),
        "min_similarity": st.floats(-1, 1),
        "graph_expansion": st.builds(
            GraphExpansion, st.sampled_from(["none", "callers", "dependencies", "related"]), st.integers(1, 3)
        ),
        "freshness_floor": st.sampled_from(["fresh", "acceptable", "stale", "stale_with_risk"]),
        "tags": st.just(("cache",)),
    },
)
policies = st.builds(
    RankingPolicy,
    fusion=st.sampled_from(["rrf", "score"]),
    ranking=st.sampled_from(["measured", "context"]),
    graph_form=st.sampled_from(["boost", "decay", "rank"]),
    hybrid_alpha=st.none() | st.floats(0, 1),
)
queries = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=5).map(" ".join)


async def pages_of(
    memories: list[MemoryDraft], code: list[Memory], policy: RankingPolicy, query: str, size: int, asked: dict[str, Any]
) -> tuple[list[SearchResult], SearchResult]:
    store = await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
    service = searching(store, policy)
    if memories:
        await service.store_batch(memories)
    distinct = list({each.content_hash: each for each in code}.values())
    calls = {each.anchor or "": [other.anchor or "" for other in distinct[:3]] for each in distinct}
    await store_code(store, distinct, calls)
    pages = [await service.search(SearchRequest(query, 1, size, **asked))]
    while pages[-1].paging.has_more:
        pages.append(await service.search(SearchRequest(query, len(pages) + 1, size, **asked)))
    return pages, await service.search(SearchRequest(query, 1, 100, **asked))


@settings(max_examples=80)
@given(st.lists(drafts, max_size=12), st.lists(symbols, max_size=12), policies, queries, st.integers(1, 9), searches)
def test_every_search_with_code_keeps_the_invariants(
    memories: list[MemoryDraft], code: list[Memory], policy: RankingPolicy, query: str, size: int, asked: dict[str, Any]
):
    pages, whole = asyncio.run(pages_of(memories, code, policy, query, size, asked))
    hits = [hit for page in pages for hit in page.results]
    hashes, scores = [hit.memory.content_hash for hit in hits], [hit.score for hit in hits]
    assert all(len(page.results) <= size for page in pages)
    assert len(hashes) == len(set(hashes)) == whole.paging.total
    assert hashes == [hit.memory.content_hash for hit in whole.results]
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert not scores or scores[0] == 1.0
    assert all(hit.provenance and hit.freshness for hit in hits)
    if asked["kinds"] == ("code",):
        assert {hit.memory.namespace for hit in hits} <= {code_of("default")}


# --- on a Qdrant server


async def test_qdrant_searches_code_alone_and_beside_memories(qdrant_url: str, tmp_path: Path):
    options = QdrantOptions(qdrant_url, collection_of(tmp_path))
    storage = await QdrantStorage.open(options, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
    try:
        service = searching(storage)
        await service.store_batch(MEMORIES)
        await store_code(storage, CODE, {"shop.part0.load_user_user_0": ["shop.auth.authenticate_user"]})
        assert all(hit.memory.kind == "memory" for hit in (await service.search(SearchRequest("check user"))).results)
        request = SearchRequest("authenticate_user", kinds=("code",), graph_expansion=GraphExpansion("callers"))
        found = names(await service.search(request))
        assert found[0] == "shop.auth.authenticate_user"
        assert "shop.part0.load_user_user_0" in found
        merged = await service.search(SearchRequest("authenticate_user slower on purpose", kinds=BOTH))
        assert {hit.memory.kind for hit in merged.results[:2]} == {"memory", "code"}
    finally:
        await storage.close()
