"""Each part of a search may fail, and the answer says so."""

import asyncio
from collections.abc import Sequence
from typing import Never

import pytest
from tests.support.fakes import BrokenEmbedder, WordEmbedder, in_front_of, partly_broken
from tests.support.notes import store_notes

from mcp_memory_service.errors import SearchUnavailable
from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.models import MemoryDraft, SearchRequest, Vector
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.search import cached_inputs as preparation
from mcp_memory_service.storage.memory import MemoryStore


async def degraded_service(store: MemoryStore, *broken: str) -> MemoryService:
    await store_notes(MemoryService(store, WordEmbedder()))
    return MemoryService(partly_broken(store, *broken), WordEmbedder())


async def test_tag_search_down_leaves_the_vector_signal(store: MemoryStore):
    service = await degraded_service(store, "search_by_tag")
    found = await service.retrieve_memories("topic 3 note")
    assert found.degraded == ("tag_search_unavailable",)
    assert len(found.results) == 10
    assert all("tag" not in hit.provenance for hit in found.results)


async def test_tag_list_down_uses_the_words_as_they_are(store: MemoryStore):
    service = await degraded_service(store, "get_all_tags", "tags_version")
    found = await service.retrieve_memories("the note")
    assert found.degraded == ("tag_list_unavailable",)
    assert found.keywords == ("note",)
    assert "tag" in found.results[0].provenance


async def test_a_tag_list_that_takes_too_long_counts_as_down(store: MemoryStore, monkeypatch: pytest.MonkeyPatch):
    async def stuck(_namespace: str) -> Never:
        await asyncio.Event().wait()
        raise AssertionError

    await store_notes(MemoryService(store, WordEmbedder()))
    monkeypatch.setattr(preparation, "TAG_LIST_TIMEOUT_SECONDS", 0.01)
    service = MemoryService(in_front_of(store, get_all_tags=stuck), WordEmbedder())
    found = await service.retrieve_memories("the note")
    assert found.degraded == ("tag_list_unavailable",)


async def test_corpus_size_unknown_means_balanced_alpha(store: MemoryStore):
    await store_notes(MemoryService(store, WordEmbedder()))
    policy = RankingPolicy(adaptive_threshold_small=5, adaptive_threshold_large=9)
    service = MemoryService(partly_broken(store, "corpus_statistics"), WordEmbedder(), policy)
    found = await service.retrieve_memories("unrelated words")
    assert (found.degraded, found.alpha_used) == (("corpus_size_unavailable",), 0.5)


async def test_evidence_down_keeps_what_was_found_and_balances(store: MemoryStore):
    service = await degraded_service(store, "sample_vectors")
    found = await service.retrieve_memories("topic 3 note")
    assert (found.degraded, found.alpha_used, found.evidence) == (("evidence_unavailable",), 0.5, None)
    assert {"vector", "keyword"} <= set(found.results[0].provenance)


async def test_neighbours_down_keeps_what_was_found(store: MemoryStore):
    await MemoryService(store, WordEmbedder()).store_batch(
        [MemoryDraft(f"turn about topic {i}", session="talk", sequence=10 * i) for i in range(5)]
    )
    found = await MemoryService(partly_broken(store, "adjacent"), WordEmbedder()).retrieve_memories("topic 3")
    assert found.degraded == ("neighbours_unavailable",)
    assert found.results[0].memory.content == "turn about topic 3"


async def test_keyword_search_down_leaves_the_others(store: MemoryStore):
    service = await degraded_service(store, "search_by_text")
    found = await service.retrieve_memories("topic 3 note")
    assert found.degraded == ("keyword_search_unavailable",)
    assert set(found.results[0].provenance) == {"vector", "tag"}


async def test_embedder_down_leaves_tags_and_keywords(store: MemoryStore):
    await store_notes(MemoryService(store, WordEmbedder()))
    found = await MemoryService(store, BrokenEmbedder()).retrieve_memories("topic 3")
    assert found.degraded == ("embedder_unavailable",)
    assert {hit.memory.tags[0] for hit in found.results[:5]} == {"topic-3"}
    assert all("vector" not in hit.provenance for hit in found.results)


async def test_vector_search_down_leaves_tags_and_keywords(store: MemoryStore):
    service = await degraded_service(store, "retrieve")
    found = await service.retrieve_memories("topic 3")
    assert found.degraded == ("vector_search_unavailable",)
    assert {hit.memory.tags[0] for hit in found.results[:5]} == {"topic-3"}


async def test_no_signal_is_an_error_and_never_an_empty_list(store: MemoryStore):
    service = await degraded_service(store, "retrieve", "search_by_tag", "search_by_text")
    reasons = "vector_search_unavailable, keyword_search_unavailable, tag_search_unavailable"
    with pytest.raises(SearchUnavailable, match=reasons):
        await service.retrieve_memories("topic 3")


async def test_a_failed_signal_and_empty_ones_are_an_error_too(store: MemoryStore):
    await store_notes(MemoryService(store, WordEmbedder()))
    service = MemoryService(store, BrokenEmbedder())
    with pytest.raises(SearchUnavailable, match="embedder_unavailable"):
        await service.retrieve_memories("nothing of this is anywhere")
    with pytest.raises(SearchUnavailable):
        await service.search(SearchRequest("topic 3", alpha=1.0))
    with pytest.raises(SearchUnavailable):
        await service.search(SearchRequest("topic 3", mode="semantic"))


async def test_an_empty_store_is_an_empty_answer(service: MemoryService):
    found = await service.retrieve_memories("anything")
    assert (found.results, found.paging.total, found.paging.total_pages, found.degraded) == ((), 0, 0, ())


async def test_a_hanging_embedder_does_not_hold_a_search(store: MemoryStore, monkeypatch: pytest.MonkeyPatch):
    class Hanging(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            await asyncio.Event().wait()
            raise AssertionError

    await store_notes(MemoryService(store, WordEmbedder()))
    monkeypatch.setattr(preparation, "EMBED_TIMEOUT_SECONDS", 0.01)
    found = await MemoryService(store, Hanging()).retrieve_memories("topic 3")
    assert found.degraded == ("embedder_unavailable",)


async def test_vectors_of_another_length_degrade_the_search(store: MemoryStore):
    class Changed(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            return [vector[:32] for vector in await super().embed(texts)]

    await store_notes(MemoryService(store, WordEmbedder()))
    found = await MemoryService(store, Changed()).retrieve_memories("topic 3")
    assert found.degraded == ("embedder_unavailable",)
