"""A cross-encoder puts the first results in a new order: what stays as it was, and what an answer says of it."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.test_searchers import shared_service, started
from tests.support.fakes import BrokenReranker, WordEmbedder, WordReranker
from tests.support.notes import contents

from mcp_memory_service.hybrid_search import MAX_PASSAGE_CHARS, indexed_text
from mcp_memory_service.models import MemoryDraft, MemoryPatch, SearchRequest
from mcp_memory_service.schemas import DebugOut
from mcp_memory_service.services import MemoryService, Reranking, SearchResult
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

NOW = 1_795_000_000_000_000
QUERY = "port of the tunnel"
TEXTS = [
    f"{'port ' * (12 - number)}of the tunnel{' and more to say' * (number % 4)}, note {number}" for number in range(12)
]


async def stored(store: MemoryStore, reranking: Reranking | None, texts: Sequence[str] = TEXTS) -> MemoryService:
    service = MemoryService(store, WordEmbedder(), now=lambda: NOW, reranking=reranking)
    if texts:
        await service.store_batch([MemoryDraft(text) for text in texts])
    return service


async def answered(service: MemoryService, query: str = QUERY, **asked: Any) -> SearchResult:
    return await service.search(SearchRequest(query, **asked))


def timeless(result: SearchResult) -> SearchResult:
    return replace(result, took_ms=0.0)


async def test_the_first_results_get_a_new_order_and_the_others_stay_after_them(store: MemoryStore):
    reranker = WordReranker()
    service = await stored(store, Reranking(reranker, top_n=6, weight=1.0))
    plain, found = await answered(service, page_size=12, rerank=False), await answered(service, page_size=12)
    assert contents(found) != contents(plain)
    assert sorted(contents(found)[:6]) == sorted(contents(plain)[:6])
    assert contents(found)[6:] == contents(plain)[6:]
    assert reranker.asked == [(QUERY, contents(plain)[:6])]
    (given,) = [await reranker.scores(QUERY, contents(found)[:6])]
    assert given == sorted(given, reverse=True)
    assert [hit.provenance["rerank"].score for hit in found.results[:6]] == given
    assert [hit.provenance["rerank"].rank for hit in found.results[:6]] == [1, 2, 3, 4, 5, 6]
    assert all("rerank" not in hit.provenance for hit in (*found.results[6:], *plain.results))
    assert (found.degraded, found.confidence, found.paging.total) == ((), plain.confidence, 12)


async def test_the_arithmetic_of_every_score_is_shown(store: MemoryStore):
    service = await stored(store, Reranking(WordReranker(), top_n=6, weight=0.3))
    found = await answered(service, page_size=12, debug=True)
    for place, hit in enumerate(found.results):
        assert hit.debug is not None
        out = DebugOut.of(hit.debug)
        assert out.rerank is not None
        first_stage = (out.vector_rrf + out.tag_boost + out.keyword_rrf + out.neighbour_boost) * out.recency_factor
        blended = first_stage * out.time_factor * (1 - out.rerank.weight) + out.rerank.contribution
        assert out.final_score == pytest.approx(blended * out.update_factor)
        assert (out.rerank.rank is None, out.rerank.contribution == 0.0) == (place >= 6, place >= 6)
    plain = await answered(service, debug=True, rerank=False)
    assert plain.results[0].debug is not None
    assert "rerank" not in DebugOut.of(plain.results[0].debug).model_dump()


class HashReranker(WordReranker):
    """Scores that have nothing to do with the first stage, and are equal now and then."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(hashlib.sha256(f"{query} {text}".encode()).digest()[0] % 5 - 2) for text in texts]


async def all_pages(
    texts: Sequence[str], reranking: Reranking, page_size: int, mode: str
) -> tuple[list[SearchResult], SearchResult, SearchResult]:
    """All pages of a search, the same as one page, and that without re-ranking."""
    store = await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
    service = await stored(store, reranking, texts)
    pages = [await answered(service, page_size=page_size, mode=mode, rerank=True)]
    while pages[-1].paging.has_more:
        pages.append(await answered(service, page=len(pages) + 1, page_size=page_size, mode=mode, rerank=True))
    whole = await answered(service, page_size=100, mode=mode, rerank=True)
    return pages, whole, await answered(service, page_size=100, mode=mode, rerank=False)


@settings(max_examples=60)
@given(
    st.lists(
        st.text("port of tunnel", min_size=1, max_size=30).map(lambda text: f"port {text}"), max_size=30, unique=True
    ),
    st.integers(5, 15),
    st.sampled_from([0.05, 0.5, 1.0]),
    st.integers(1, 12),
    st.sampled_from(["hybrid", "semantic", "keyword"]),
)
def test_pages_continue_each_other_and_scores_fall(texts: list[str], top_n: int, weight: float, size: int, mode: str):
    reranking = Reranking(HashReranker(), top_n, weight)
    pages, whole, plain = asyncio.run(all_pages(texts, reranking, size, mode))
    hits = [hit for page in pages for hit in page.results]
    order, before = [hit.memory.content for hit in hits], contents(plain)
    assert order == contents(whole)
    assert (sorted(order[:top_n]), order[top_n:]) == (sorted(before[:top_n]), before[top_n:])
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert not scores or scores[0] == 1.0


async def test_the_next_page_does_not_ask_the_model_again(store: MemoryStore):
    reranker = WordReranker()
    service = await stored(store, Reranking(reranker))
    first, second = await answered(service, page_size=6), await answered(service, page=2, page_size=6)
    assert len(reranker.asked) == 1
    assert sorted(contents(first) + contents(second)) == sorted(TEXTS)
    assert second.results[0].score <= first.results[-1].score
    await answered(service, "another port", page_size=6)
    assert len(reranker.asked) == 2


async def test_there_is_nothing_to_ask_where_nothing_is_shown(store: MemoryStore):
    reranker = WordReranker()
    service = await stored(store, Reranking(reranker), texts=())
    assert await answered(service, "anything", rerank=True) == replace(
        await answered(service, "anything", rerank=False), took_ms=pytest.approx(0, abs=1e9)
    )
    await service.store_batch([MemoryDraft("bread needs flour"), MemoryDraft("tea is ready")])
    cut = await answered(service, "quantum chromodynamics", min_confidence="high")
    assert (cut.results, cut.cut, cut.degraded) == ((), True, ())
    beyond = await answered(service, "bread", page=9)
    assert (beyond.results, reranker.asked) == ((), [])
    assert contents(await answered(service, "bread flour"))[0] == "bread needs flour"
    assert len(reranker.asked) == 1


async def test_fewer_results_than_are_re_ranked_are_all_re_ranked(store: MemoryStore):
    service = await stored(store, Reranking(WordReranker(), top_n=100), TEXTS[:3])
    assert all("rerank" in hit.provenance for hit in (await answered(service)).results)


class StuckReranker(WordReranker):
    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    ("reranker", "reason"), [(BrokenReranker(), "rerank_unavailable"), (StuckReranker(), "rerank_timed_out")]
)
async def test_without_the_model_the_answer_is_that_of_the_first_stage_and_says_so(
    store: MemoryStore, reranker: WordReranker, reason: str
):
    service = await stored(store, Reranking(reranker, timeout_seconds=0.02))
    plain, found = await answered(service, debug=True, rerank=False), await answered(service, debug=True)
    assert found.degraded == (reason,)
    assert timeless(replace(found, degraded=())) == timeless(plain)
    explained = await service.explain(SearchRequest(QUERY), plain.results[3].memory.content_hash)
    assert (explained.rank, explained.rank_before, explained.degraded) == (4, None, (reason,))


async def test_a_request_may_decide_and_a_mode_of_one_signal_keeps_its_order(store: MemoryStore):
    service = await stored(store, Reranking(WordReranker()))
    re_ranked = {
        (mode, rerank): "rerank" in (await answered(service, mode=mode, rerank=rerank)).results[0].provenance
        for mode in ("hybrid", "semantic", "keyword")
        for rerank in (None, True, False)
    }
    assert {asked for asked, was in re_ranked.items() if was} == {
        ("hybrid", None),
        ("hybrid", True),
        ("semantic", True),
        ("keyword", True),
    }


async def test_who_asks_for_it_where_it_is_off_is_told(store: MemoryStore):
    service = await stored(store, None)
    assert (await answered(service, rerank=True)).degraded == ("rerank_off",)
    assert (await answered(service)).degraded == (await answered(service, rerank=False)).degraded == ()


async def test_of_a_long_content_the_passages_that_are_shown_are_scored(store: MemoryStore):
    long = f"{'The weather was fine that day. ' * 80}The port of the tunnel is 2333. {'Nothing else happened. ' * 80}"
    reranker = WordReranker()
    service = await stored(store, Reranking(reranker), [*TEXTS[:3], long])
    found, full = await answered(service), await answered(service, full=True)
    (hit,) = [hit for hit in found.results if hit.memory.content == long]
    shown = " … ".join(passage.text for passage in hit.passages)
    assert "2333" in shown
    assert len(shown) <= MAX_PASSAGE_CHARS < len(long)
    assert sorted(reranker.asked[0][1]) == sorted([*TEXTS[:3], shown])
    assert contents(full) == contents(found)
    assert len(reranker.asked) == 1
    assert not any(hit.passages for hit in full.results)


async def test_the_store_is_not_held_while_the_model_thinks(storage: SqliteVecStorage):
    class WritingReranker(WordReranker):
        async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
            await service.store_memory(MemoryDraft("stored while the model thinks"))
            await service.delete_memory((await service.list_memories()).memories[-1].content_hash)
            return await super().scores(query, texts)

    service = MemoryService(storage, WordEmbedder(), reranking=Reranking(WritingReranker(), timeout_seconds=60.0))
    await service.store_batch([MemoryDraft(text) for text in TEXTS])
    found = await answered(service, page_size=20)
    assert sorted(contents(found)) == sorted(TEXTS)
    assert (await service.stats()).memories == 12


async def test_an_update_stays_before_what_it_updates(store: MemoryStore):
    old, new = "the port of the tunnel is 2333", "moved the port of the tunnel to 4477"
    day = 86_400_000_000
    service = await stored(store, Reranking(WordReranker()), ["bread needs flour", "tea is ready", "it rains"])
    await service.store_batch([MemoryDraft(old, created_at=NOW - 99 * day), MemoryDraft(new, created_at=NOW - day)])
    found = await answered(service, "the port of the tunnel", debug=True)
    assert contents(found)[:2] == [new, old]
    assert [hit.provenance["rerank"].rank for hit in found.results[:2]] == [2, 1]
    assert found.results[0].debug is not None
    assert found.results[0].debug.update_factor > 1.0


async def test_what_was_superseded_is_re_ranked_with_the_rest(store: MemoryStore):
    service = await stored(store, Reranking(WordReranker()))
    first = (await answered(service, page_size=12)).results[0].memory
    await service.update_memory(first.content_hash, MemoryPatch(content="something else about bread"))
    found = await answered(service, page_size=20, include_superseded=True)
    assert sorted([*TEXTS, "something else about bread"]) == sorted(contents(found))
    assert sum("rerank" in hit.provenance for hit in found.results) == 10


async def test_an_explanation_has_the_place_before_and_what_the_model_said(store: MemoryStore):
    service = await stored(store, Reranking(WordReranker(), top_n=6, weight=1.0))
    plain, found = await answered(service, page_size=12, rerank=False), await answered(service, page_size=12)
    for place, hit in enumerate(found.results, start=1):
        explained = await service.explain(SearchRequest(QUERY, page_size=3), hit.memory.content_hash)
        before = contents(plain).index(hit.memory.content) + 1
        assert (explained.rank, explained.rank_before) == (place, before)
        assert explained.summary.startswith(f"It is number {place} of 12, and was number {before} before re-ranking")
        assert explained.signals.get("rerank") == hit.provenance.get("rerank")
        assert explained.rerank_weight == 1.0
        if before <= 3:
            assert explained.alpha_for_first_page is None
    unchanged = await service.explain(SearchRequest(QUERY, rerank=False), found.results[0].memory.content_hash)
    assert (unchanged.rank_before, "rerank" in unchanged.signals) == (None, False)


async def test_namespaces_share_the_model(store: MemoryStore):
    reranker = WordReranker()
    service = (await stored(store, Reranking(reranker))).within("team/alice")
    await service.store_batch([MemoryDraft(text) for text in TEXTS[:4]])
    assert len((await answered(service)).results) == 4
    assert [len(texts) for _, texts in reranker.asked] == [4]


async def test_a_service_starts_also_if_the_model_does_not(store: MemoryStore, caplog: pytest.LogCaptureFixture):
    await (await stored(store, Reranking(BrokenReranker()))).warm_up()
    assert "not re-ranked for now: The re-ranking server is down." in caplog.text
    reranker = WordReranker()
    await (await stored(store, Reranking(reranker))).warm_up()
    assert reranker.asked == [("warm up", ["warm up"])]


async def test_processes_that_share_the_searches_leave_re_ranking_to_the_service(tmp_path: Path):
    async with shared_service(tmp_path / "store.db", reranking=Reranking(WordReranker())) as (service, pool):
        await started(service, pool, rerank=False)
        assert pool.processes
        re_ranked, plain = await answered(service, "a heron"), await answered(service, "a heron", rerank=False)
        assert "rerank" in re_ranked.results[0].provenance
        assert "rerank" not in plain.results[0].provenance
