"""The search pipeline over a real store: ranking, paging, filters, degradation."""

import asyncio
from typing import Any

import pytest
from tests.support.fakes import BrokenEmbedder, Method, WordEmbedder, in_front_of, partly_broken
from tests.support.notes import contents, store_notes
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.errors import EmbedderUnavailable, InvalidInput, MemoryNotFound
from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.models import ListRequest, MemoryDraft, MemoryFilter, MemoryPatch, SearchRequest, content_hash
from mcp_memory_service.services import MemoryService, ServiceLimits
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

NOW = 1_800_000_000_000_000


# --- defaults and alpha


async def test_hybrid_enabled_by_default(service: MemoryService):
    await service.store_memory(MemoryDraft("tunnel setup on the server", tags=("rathole",)))
    await service.store_memory(MemoryDraft("an overview of the project"))
    found = await service.retrieve_memories("rathole server")
    assert found.mode == "hybrid"
    assert found.keywords == ("rathole",)
    assert contents(found)[0] == "tunnel setup on the server"
    assert set(found.results[0].provenance) == {"vector", "tag", "keyword"}
    assert found.results[0].snippet == "tunnel setup on the **server**"


async def test_opt_out_pure_vector(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), RankingPolicy(hybrid_alpha=1.0), now=lambda: NOW)
    await store_notes(service)
    old = NOW - 900 * MICROSECONDS_PER_DAY
    await service.store_memory(MemoryDraft("topic 3 and nothing else", created_at=old))
    found = await service.retrieve_memories("note about topic 3", page_size=100)
    (vector,) = await WordEmbedder().embed(["note about topic 3"])
    expected = await store.retrieve(vector, 100, MemoryFilter())
    assert [hit.memory.content_hash for hit in found.results] == [c.content_hash for c in expected]
    assert [hit.similarity for hit in found.results] == [c.score for c in expected]
    assert found.alpha_used == 1.0
    assert all(set(hit.provenance) == {"vector"} for hit in found.results)


async def test_alpha_0_is_the_tag_order(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), RankingPolicy(hybrid_alpha=0.0))
    await service.store_memory(MemoryDraft("a", tags=("common",)))
    await service.store_memory(MemoryDraft("b", tags=("common", "rare")))
    await service.store_memory(MemoryDraft("c", tags=("rare",)))
    await service.store_memory(MemoryDraft("d", tags=("common",)))
    await service.store_memory(MemoryDraft("rare common words"))
    found = await service.retrieve_memories("rare common words")
    assert contents(found) == ["b", "c", "d", "a"]
    assert all(hit.similarity is None for hit in found.results)


async def test_the_argument_beats_the_setting(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), RankingPolicy(hybrid_alpha=1.0))
    await store_notes(service)
    assert (await service.search(SearchRequest("topic 1", alpha=0.3))).alpha_used == 0.3


async def test_with_rrf_alpha_adapts_to_the_corpus(store: MemoryStore):
    service = MemoryService(
        store, WordEmbedder(), RankingPolicy(fusion="rrf", adaptive_threshold_small=5, adaptive_threshold_large=9)
    )
    alphas: list[float] = []
    for i in range(10):
        await service.store_memory(MemoryDraft(f"memory {i}"))
        alphas.append((await service.retrieve_memories("something")).alpha_used)
    assert alphas == [0.5] * 4 + [0.7] * 4 + [0.8] * 2


async def test_tag_extraction_boosts_results(service: MemoryService):
    await store_notes(service, 40)
    await service.store_memory(MemoryDraft("plain text", tags=("Home-Lab",)))
    found = await service.retrieve_memories("note about my home lab")
    assert contents(found)[0] == "plain text"
    assert found.results[0].score == 1.0


async def test_empty_tags_skip_extraction(service: MemoryService):
    await store_notes(service)
    await service.store_memory(MemoryDraft("plain text", tags=("note",)))
    found = await service.retrieve_memories("note about topic 3", tags=[])
    assert found.keywords == ()
    assert all("tag" not in hit.provenance for hit in found.results)


async def test_explicit_tags_filter_and_rank(service: MemoryService):
    await store_notes(service)
    found = await service.retrieve_memories("anything at all", tags=["TOPIC-3", "topic-4"], page_size=100)
    assert found.paging.total == 10
    assert found.keywords == ("topic-3", "topic-4")
    assert {tag for hit in found.results for tag in hit.memory.tags} == {"topic-3", "topic-4", "note"}
    both = await service.search(SearchRequest("x", tags=("topic-3", "topic-4"), tag_match="all"))
    assert both.results == ()


@pytest.mark.parametrize("tags", [(), ("rathole",), ("rathole", "server", "port")])
async def test_a_year_old_exact_answer_is_still_first(store: MemoryStore, tags: tuple[str, ...]):
    service = MemoryService(store, WordEmbedder(), now=lambda: NOW)
    year_ago = NOW - 365 * MICROSECONDS_PER_DAY
    await service.store_memory(MemoryDraft("rathole server port is 2333", tags=tags, created_at=year_ago))
    await service.store_batch([MemoryDraft(f"rathole chatter number {i}", tags=tags) for i in range(40)])
    found = await service.search(SearchRequest("rathole server port", debug=True))
    assert contents(found)[0] == "rathole server port is 2333"
    debug = found.results[0].debug
    assert debug is not None
    assert 0.998 < debug.recency_factor < 0.999


async def test_with_floor_0_recency_is_plain_decay(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), RankingPolicy(recency_floor=0.0), now=lambda: NOW)
    await service.store_memory(MemoryDraft("exact words", created_at=NOW - 70 * MICROSECONDS_PER_DAY))
    await service.store_memory(MemoryDraft("other text"))
    found = await service.search(SearchRequest("exact meaning", debug=True))
    assert set(contents(found)) == {"other text", "exact words"}
    debug = next(hit.debug for hit in found.results if hit.memory.content == "exact words")
    assert debug is not None
    assert debug.recency_factor == pytest.approx(0.4966, abs=1e-3)


async def test_debug_parts_add_up(service: MemoryService):
    await store_notes(service)
    found = await service.search(SearchRequest("note about topic 3", page_size=100, debug=True))
    best = found.results[0].debug
    assert best is not None
    for hit in found.results:
        debug = hit.debug
        assert debug is not None
        parts = sum(vote.contribution for vote in debug.contributions.values())
        assert debug.final_score == pytest.approx(parts * debug.recency_factor * debug.update_factor)
        assert hit.score == pytest.approx(debug.final_score / best.final_score)
        assert debug.alpha_used == found.alpha_used
    assert all(hit.debug is None for hit in (await service.retrieve_memories("note")).results)


# --- paging


async def test_pagination_with_hybrid(service: MemoryService):
    await store_notes(service, 25)
    whole = await service.retrieve_memories("note about topic 3", page_size=100)
    pages = [await service.retrieve_memories("note about topic 3", page=page, page_size=10) for page in (1, 2, 3, 4)]
    assert [hit for page in pages for hit in contents(page)] == contents(whole)
    assert len(set(contents(whole))) == 25
    assert [(p.paging.total, p.paging.total_pages, p.paging.has_more) for p in pages] == [
        (25, 3, True),
        (25, 3, True),
        (25, 3, False),
        (25, 3, False),
    ]
    scores = [hit.score for page in pages for hit in page.results]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0
    assert min(scores) > 0


@pytest.mark.parametrize("page_size", [1, 3, 7, 10])
async def test_pages_do_not_depend_on_their_size(service: MemoryService, page_size: int):
    await store_notes(service, 23)
    whole = contents(await service.retrieve_memories("topic 2 note", page_size=100))
    paged: list[str] = []
    page = 1
    while True:
        found = await service.retrieve_memories("topic 2 note", page=page, page_size=page_size)
        paged += contents(found)
        if not found.paging.has_more:
            break
        page += 1
    assert paged == whole


async def test_the_window_bounds_what_can_be_paged_through(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), RankingPolicy(ranking_window=10))
    await store_notes(service, 25)
    found = await service.retrieve_memories("unrelated words", page_size=100)
    assert (found.paging.total, len(found.results)) == (10, 10)


# --- filters


async def test_filters_reach_every_signal(service: MemoryService):
    await service.store_memory(MemoryDraft("old fix", tags=("t",), memory_type="fix", created_at=1_000))
    await service.store_memory(MemoryDraft("old note", tags=("t",), memory_type="note", created_at=2_000))
    await service.store_memory(MemoryDraft("new fix", tags=("t",), memory_type="fix", created_at=3_000))
    assert contents(await service.search(SearchRequest("t", memory_type="fix", before=2_000))) == ["old fix"]
    assert contents(await service.search(SearchRequest("t", after=2_000, before=3_000))) == ["old note"]


async def test_min_similarity_drops_vector_hits_but_no_tag_hit(service: MemoryService):
    await service.store_memory(MemoryDraft("completely different", tags=("rathole",)))
    await service.store_memory(MemoryDraft("rathole tunnel"))
    await service.store_memory(MemoryDraft("nothing in common"))
    found = await service.retrieve_memories("rathole tunnel", min_similarity=0.9)
    assert set(contents(found)) == {"completely different", "rathole tunnel"}
    by_content = {hit.memory.content: hit for hit in found.results}
    assert by_content["completely different"].similarity is None
    assert found.paging.total == 2


# --- the other use cases


async def test_storing_is_refused_while_the_embedder_is_down(store: MemoryStore):
    service = MemoryService(store, BrokenEmbedder())
    with pytest.raises(EmbedderUnavailable):
        await service.store_memory(MemoryDraft("x"))
    assert (await service.stats()).memories == 0
    health = await service.health()
    assert (health.can_store, health.can_search) == (False, True)
    assert (health.ready, set(health.problems)) == (False, {"embedder_unavailable"})


async def test_health_recovers_and_sees_a_store_that_is_down(store: MemoryStore):
    unreadable = await MemoryService(partly_broken(store, "check_search"), WordEmbedder()).health()
    assert (unreadable.can_store, unreadable.can_search) == (True, False)
    unwritable = await MemoryService(partly_broken(store, "check_write"), WordEmbedder()).health()
    assert (unwritable.can_store, unwritable.can_search) == (False, True)
    for health in (unreadable, unwritable):
        assert (health.ready, set(health.problems)) == (False, {"storage_unavailable"})
    assert (await MemoryService(store, WordEmbedder()).health()).ready


async def test_health_asks_an_embedder_again_that_was_silent_for_a_while(store: MemoryStore):
    class FailingLater(WordEmbedder):
        down = False

        async def warm_up(self) -> None:
            if self.down:
                raise EmbedderUnavailable("The embedding server is down.")

    embedder, now = FailingLater(), [0.0]
    service = MemoryService(store, embedder, monotonic_seconds=lambda: now[0])
    assert (await service.health()).ready
    embedder.down = True
    now[0] += 5
    assert (await service.health()).ready, "it answered a moment ago"
    now[0] += 6
    assert set((await service.health()).problems) == {"embedder_unavailable"}


async def test_a_batch_with_one_bad_memory_stores_none(service: MemoryService):
    with pytest.raises(InvalidInput, match="content is empty"):
        await service.store_batch([MemoryDraft("good"), MemoryDraft(" ")])
    assert (await service.stats()).memories == 0
    for drafts in ([], [MemoryDraft("x")] * 501):
        with pytest.raises(InvalidInput, match="1 to 500"):
            await service.store_batch(drafts)


async def test_content_is_kept_as_it_came_and_known_by_its_normal_form(service: MemoryService):
    first = await service.store_memory(MemoryDraft("  e\u0301tude \n"))
    again = await service.store_memory(MemoryDraft("\u00e9tude"))
    assert (again.created, again.memory.content) == (False, "  e\u0301tude \n")
    assert first.memory.content_hash == content_hash("\u00e9tude")


async def test_a_long_memory_is_found_by_its_end(service: MemoryService):
    filler = " ".join(f"filler{i}" for i in range(600))
    await service.store_memory(MemoryDraft(f"{filler} and finally the zebra crossing"))
    await store_notes(service, 5)
    found = await service.retrieve_memories("finally the zebra crossing")
    assert contents(found)[0].endswith("zebra crossing")
    assert (await service.stats()).vectors > 6


async def test_list_by_tag_get_update_delete(service: MemoryService):
    await store_notes(service, 12)
    listing = await service.list_memories(ListRequest(page=2, page_size=5))
    assert (len(listing.memories), listing.paging.total, listing.paging.total_pages) == (5, 12, 3)
    tagged = await service.list_memories(ListRequest(tags=("Topic-1",)))
    assert {memory.content for memory in tagged.memories} == {f"note {i} about topic 1" for i in (1, 6, 11)}
    chosen = tagged.memories[0].content_hash
    updated = await service.update_memory(chosen, MemoryPatch(tags=("new",), metadata={"k": 1}))
    assert await service.get_memory(chosen) == updated
    await service.delete_memory(chosen)
    for use_case in (
        service.get_memory(chosen),
        service.delete_memory(chosen),
        service.update_memory(chosen, MemoryPatch()),
    ):
        with pytest.raises(MemoryNotFound):
            await use_case


async def test_the_content_limit_is_a_setting(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), limits=ServiceLimits(max_content_chars=5))
    await service.store_memory(MemoryDraft("12345"))
    with pytest.raises(InvalidInput, match="6 characters, at most 5"):
        await service.store_memory(MemoryDraft("123456"))


async def test_limits_hold_for_what_is_united_step_by_step(service: MemoryService):
    draft = MemoryDraft("same", tags=tuple(f"t{i}" for i in range(100)), metadata={"a": "x" * 60_000})
    stored = await service.store_memory(draft)
    for more in (MemoryDraft("same", tags=("one more",)), MemoryDraft("same", metadata={"b": "x" * 60_000})):
        with pytest.raises(InvalidInput, match="already"):
            await service.store_memory(more)
    with pytest.raises(InvalidInput, match="already"):
        await service.update_memory(stored.memory.content_hash, MemoryPatch(metadata={"b": "x" * 60_000}))
    assert await service.get_memory(stored.memory.content_hash) == stored.memory


async def test_one_and_true_are_different_metadata(service: MemoryService):
    stored = await service.store_memory(MemoryDraft("x", metadata={"flag": 1}))
    patched = await service.update_memory(stored.memory.content_hash, MemoryPatch(metadata={"flag": True}))
    assert patched.metadata["flag"] is True
    assert (await service.get_memory(stored.memory.content_hash)).metadata["flag"] is True


async def test_a_higher_threshold_never_finds_more_and_keeps_all_tag_hits(service: MemoryService):
    await store_notes(service, 20)
    await service.store_memory(MemoryDraft("tunnel", tags=("rathole",)))
    totals: list[int] = []
    for threshold in (None, 0.0, 0.3, 0.5, 0.9, 1.0):
        found = await service.retrieve_memories("rathole topic 3", min_similarity=threshold, page_size=100)
        totals.append(found.paging.total)
        assert {"tunnel"} | {f"note {i} about topic 3" for i in (3, 8, 13, 18)} <= set(contents(found))
    assert totals == sorted(totals, reverse=True)


async def test_a_tag_that_most_memories_carry_does_not_bury_the_best_answer(service: MemoryService):
    await service.store_batch([MemoryDraft(f"unrelated thing {i}", tags=("project",)) for i in range(50)])
    await service.store_memory(MemoryDraft("rathole codebase architecture in Rust"))
    found = await service.retrieve_memories("rathole project codebase architecture")
    assert contents(found)[0] == "rathole codebase architecture in Rust"
    assert found.keywords == ()


@pytest.mark.parametrize("tagged", [1, 5, 29, 31, 40, 60, 100])
async def test_a_growing_project_is_still_found(store: MemoryStore, tagged: int):
    service = MemoryService(store, WordEmbedder())
    others = [MemoryDraft(f"pelican project codebase architecture note {i}", tags=("pelican",)) for i in range(300)]
    ours = [MemoryDraft(f"tunnel detail number {i}", tags=("rathole",)) for i in range(tagged)]
    await service.store_batch(others)
    await service.store_batch(ours)
    found = await service.retrieve_memories("rathole project codebase architecture")
    assert all("rathole" in hit.memory.tags for hit in found.results[: min(tagged, 10)])


async def test_the_signals_are_asked_at_the_same_time(store: MemoryStore):
    asked = asyncio.Barrier(3)

    def meeting(search: Method) -> Method:
        """Waits until all three are under way; asked one after the other they would wait for ever."""

        async def met(*arguments: Any) -> Any:
            await asked.wait()
            return await search(*arguments)

        return met

    searches = (store.retrieve, store.search_by_tag, store.search_by_text)
    together = in_front_of(store, **{search.__name__: meeting(search) for search in searches})
    await store_notes(MemoryService(store, WordEmbedder()))
    async with asyncio.timeout(HANG_SECONDS):
        found = await MemoryService(together, WordEmbedder()).retrieve_memories("topic 3 note")
    assert found.degraded == ()


async def test_an_ancient_memory_with_plain_decay_is_no_division_by_zero(store: MemoryStore):
    policy = RankingPolicy(recency_floor=0.0, recency_decay=100.0)
    service = MemoryService(store, WordEmbedder(), policy, now=lambda: NOW)
    await service.store_memory(MemoryDraft("old", created_at=0))
    found = await service.retrieve_memories("old")
    assert [hit.score for hit in found.results] == [1.0]
