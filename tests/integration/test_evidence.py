"""Neighbours and evidence through the service, and the ranks that have neither."""

import asyncio
from collections import Counter

import pytest
from tests.contract.memories import note, waiting
from tests.support.fakes import WordEmbedder, counted, in_front_of
from tests.support.notes import contents, store_notes

from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.models import EmbeddedMemory, MemoryDraft, SearchRequest
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.search.cached_inputs import DRAWN_EVERY_SECONDS
from mcp_memory_service.storage.memory import MemoryStore

DAY = 24 * 3600 * 1_000_000


async def test_a_neighbour_that_no_signal_found_is_brought_in_and_filters_hold(store: MemoryStore):
    """The answer stands one turn after the question and has none of its words; the window is too small to hold it."""
    service = MemoryService(store, WordEmbedder(), RankingPolicy(ranking_window=10))
    await store_notes(service, 60)
    await service.store_batch(
        [
            MemoryDraft("which port does the rathole tunnel use", session="talk", sequence=1),
            MemoryDraft("2333, as always", session="talk", sequence=2, memory_type="answer"),
        ]
    )
    found = await service.retrieve_memories("rathole tunnel port")
    assert contents(found)[:2] == ["which port does the rathole tunnel use", "2333, as always"]
    assert set(found.results[1].provenance) == {"neighbour"}
    filtered = await service.retrieve_memories("rathole tunnel port", memory_type="question")
    assert filtered.results == ()


async def test_quoted_words_count_as_evidence(service: MemoryService):
    await store_notes(service, 40)
    await service.store_memory(MemoryDraft("connection refused error on the server"))
    plain = await service.retrieve_memories("connection refused error")
    quoted = await service.retrieve_memories('"connection refused error"')
    assert plain.evidence == quoted.evidence
    assert quoted.evidence is not None
    assert quoted.evidence.keyword_coverage == 1.0


def counting_draws(store: MemoryStore) -> tuple[MemoryService, Counter[str]]:
    calls: Counter[str] = Counter()
    counting = in_front_of(store, sample_vectors=counted(store.sample_vectors, calls))
    return MemoryService(counting, WordEmbedder()), calls


async def test_a_few_writes_among_many_memories_do_not_draw_the_sample_anew(store: MemoryStore):
    service, calls = counting_draws(store)
    await store_notes(service, 300)

    async def draws_after_storing(*contents: str) -> int:
        if contents:
            await service.store_batch([MemoryDraft(content) for content in contents])
        await asyncio.gather(*(service.retrieve_memories(f"note about topic {i}") for i in range(4)))
        return calls["sample_vectors"]

    assert await draws_after_storing() == 1
    assert await draws_after_storing("one", "two", "three") == 1
    assert await draws_after_storing("a fourth of 300") == 2
    assert await draws_after_storing("and one more") == 2


async def test_among_a_few_memories_every_write_is_seen_in_the_evidence(store: MemoryStore):
    service, calls = counting_draws(store)
    await store_notes(service, 99)
    for number in range(3):
        await service.retrieve_memories("note about topic 3")
        assert calls["sample_vectors"] == number + 1
        if number < 2:
            await service.delete_memory((await service.list_memories()).memories[0].content_hash)


async def test_while_vectors_are_still_to_come_the_sample_is_drawn_anew_now_and_then(store: MemoryStore):
    calls: Counter[str] = Counter()
    seconds = [0.0]
    counting = in_front_of(store, sample_vectors=counted(store.sample_vectors, calls))
    service = MemoryService(counting, WordEmbedder(), monotonic_seconds=lambda: seconds[0])
    chunks = [note(f"note {i} about topic {i % 5}", anchor=str(i)) for i in range(200)]
    await store.replace_source("default", "docs/a.md", [waiting(each) for each in chunks], [])

    async def draws(*at: float) -> int:
        for moment in at:
            seconds[0] = moment
            await service.retrieve_memories("note about topic 3")
        return calls["sample_vectors"]

    assert await draws(0, 1, DRAWN_EVERY_SECONDS - 1) == 1
    assert await draws(DRAWN_EVERY_SECONDS + 1, DRAWN_EVERY_SECONDS + 2) == 2
    await store.add_vectors([EmbeddedMemory(each, (WordEmbedder.vector(each.content),)) for each in chunks])
    assert await draws(100, 200, 100_000) == 3


async def test_the_sample_of_a_filter_is_drawn_once_and_again_when_what_it_leaves_has_changed(store: MemoryStore):
    service, calls = counting_draws(store)
    await store_notes(service, 60)
    await service.store_batch([MemoryDraft(f"turn {i}", session="talk") for i in range(9)])

    async def draws(*requests: SearchRequest) -> int:
        for request in requests:
            await service.search(request)
        return calls["sample_vectors"]

    plain, filtered = SearchRequest("turn about topic 3"), SearchRequest("turn about topic 3", session="talk")
    assert await draws(plain, filtered, plain, filtered) == 2
    await service.store_memory(MemoryDraft("elsewhere"))
    assert await draws(filtered) == 2
    assert await draws(plain) == 3
    await service.store_memory(MemoryDraft("another turn", session="talk"))
    assert await draws(filtered, filtered) == 4


async def test_a_time_that_moves_draws_no_sample_as_long_as_it_leaves_the_same(store: MemoryStore):
    moment = [100 * DAY + DAY // 2]
    calls: Counter[str] = Counter()
    counting = in_front_of(store, sample_vectors=counted(store.sample_vectors, calls))
    service = MemoryService(counting, WordEmbedder(), now=lambda: moment[0])
    await service.store_batch([MemoryDraft(f"note {i}", created_at=(60 + i) * DAY) for i in range(40)])
    week = SearchRequest("note 39", after="7d")
    answers = [await service.search(week)]
    for _ in range(3):
        moment[0] += 1_000_000
        answers.append(await service.search(week))
    assert calls["sample_vectors"] == 1
    assert len({(found.alpha_used, found.paging.total) for found in answers}) == 1
    moment[0] += 2 * DAY
    assert (await service.search(week)).paging.total < answers[0].paging.total
    assert calls["sample_vectors"] == 2


async def test_a_tag_that_the_filter_demands_says_nothing(store: MemoryStore):
    service = MemoryService(store, WordEmbedder())
    await store_notes(service, 40)
    found = await service.search(SearchRequest("note about topic 3", tags=("topic-3",)))
    assert found.keywords == ("topic-3",)
    assert all(hit.provenance["tag"].score < 0.1 for hit in found.results)
    whole = await service.search(SearchRequest("note about topic-3"))
    assert whole.results[0].provenance["tag"].score > 0.3


async def test_a_filter_that_leaves_nothing_is_an_empty_answer(store: MemoryStore):
    service = MemoryService(store, WordEmbedder())
    await store_notes(service, 20)
    found = await service.search(SearchRequest("note about topic 3", session="nowhere"))
    assert (found.results, found.degraded, found.evidence) == ((), (), None)


async def test_rrf_is_alpha_weighted_reciprocal_ranks_and_nothing_else(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), RankingPolicy(fusion="rrf", recency_decay=0.0))
    await store_notes(service, 30)
    found = await service.search(SearchRequest("note about topic-3", debug=True))
    assert (found.alpha_used, found.evidence) == (0.5, None)
    for hit in found.results:
        debug = hit.debug
        assert debug is not None
        votes = debug.contributions
        assert debug.final_score == pytest.approx(sum(0.5 / (60 + vote.rank) for vote in votes.values()))
        assert "neighbour" not in votes
