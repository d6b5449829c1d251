"""A long hit shows the passage that answers, whatever finds it and whichever door is asked."""

from pathlib import Path

import pytest
from tests.support.fakes import BrokenEmbedder, WordEmbedder, partly_broken
from tests.support.long_texts import ANSWER, runbook

from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import MemoryDraft, SearchMode, SearchRequest
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.search.results import Hit
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

QUERY = "pgbouncer pool exhausted"
RUNBOOK = runbook((60, ANSWER))


def shown(hit: Hit) -> list[str]:
    for passage in hit.passages:
        assert hit.memory.content[passage.start : passage.start + len(passage.text)] == passage.text
    return [passage.text for passage in hit.passages]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
async def test_a_long_hit_has_the_passage_that_answers(service: MemoryService, mode: SearchMode):
    await service.store_batch([MemoryDraft(RUNBOOK), MemoryDraft("pgbouncer is a pool of connections")])
    found = await service.search(SearchRequest(QUERY, mode=mode))
    by_content = {hit.memory.content: hit for hit in found.results}
    assert any(ANSWER in text for text in shown(by_content[RUNBOOK]))
    assert shown(by_content["pgbouncer is a pool of connections"]) == []


async def test_the_meaning_of_a_query_finds_the_passage(tmp_path: Path, local_embedder: LocalEmbedder):
    storage = await SqliteVecStorage.open(tmp_path / "m.db", local_embedder.model_id, 384, indexed_text)
    service = MemoryService(storage, local_embedder)
    await service.store_memory(MemoryDraft(RUNBOOK))
    (hit,) = (await service.retrieve_memories("postgres has too few connections left for customers who pay")).results
    assert any(ANSWER in text for text in shown(hit))
    await storage.close()


async def test_a_text_of_fifteen_hundred_characters_is_not_long(service: MemoryService):
    await service.store_batch([MemoryDraft("pool " * 300), MemoryDraft("pool " * 300 + "s")])
    lengths = {
        len(hit.memory.content): sum(map(len, shown(hit))) for hit in (await service.retrieve_memories("pool")).results
    }
    assert lengths == {1_500: 0, 1_501: pytest.approx(900, abs=150)}


async def test_who_asks_for_whole_contents_gets_no_passages(service: MemoryService):
    await service.store_memory(MemoryDraft(RUNBOOK))
    (hit,) = (await service.search(SearchRequest(QUERY, full=True))).results
    assert hit.passages == ()


async def test_without_an_embedder_words_choose_the_passage(store: MemoryStore):
    await MemoryService(store, WordEmbedder()).store_memory(MemoryDraft(RUNBOOK))
    found = await MemoryService(store, BrokenEmbedder()).retrieve_memories(QUERY)
    assert found.degraded == ("embedder_unavailable",)
    assert any(ANSWER in text for text in shown(found.results[0]))


async def test_without_the_similarities_of_chunks_words_choose_and_the_answer_says_so(store: MemoryStore):
    await MemoryService(store, WordEmbedder()).store_memory(MemoryDraft(RUNBOOK))
    service = MemoryService(partly_broken(store, "chunk_similarities"), WordEmbedder())
    found = await service.retrieve_memories(QUERY)
    assert found.degraded == ("chunk_similarities_unavailable",)
    assert any(ANSWER in text for text in shown(found.results[0]))


async def test_a_page_without_long_hits_asks_for_no_chunks(store: MemoryStore):
    await MemoryService(store, WordEmbedder()).store_memory(MemoryDraft("pgbouncer pool exhausted on finch"))
    service = MemoryService(partly_broken(store, "chunk_similarities"), WordEmbedder())
    assert (await service.retrieve_memories(QUERY)).degraded == ()
