"""Neighbours and evidence through the service, and the ranks that have neither."""

import pytest
from tests.fakes import WordEmbedder
from tests.notes import contents, store_notes

from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.models import MemoryDraft
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage


async def test_a_neighbour_that_no_signal_found_is_brought_in_and_filters_hold(storage: SqliteVecStorage):
    """The answer stands one turn after the question and has none of its words; the window is too small to hold it."""
    service = MemoryService(storage, WordEmbedder(), RankingPolicy(ranking_window=10))
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


async def test_rrf_is_alpha_weighted_reciprocal_ranks_and_nothing_else(storage: SqliteVecStorage):
    service = MemoryService(storage, WordEmbedder(), RankingPolicy(fusion="rrf", recency_decay=0.0))
    await store_notes(service, 30)
    found = await service.retrieve_memories("note about topic-3", debug=True)
    assert (found.alpha_used, found.evidence) == (0.5, None)
    for hit in found.results:
        debug = hit.debug
        assert debug is not None
        ranks = (debug.vector_rank, debug.tag_rank, debug.keyword_rank)
        assert debug.final_score == pytest.approx(sum(0.5 / (60 + rank) for rank in ranks if rank))
        assert debug.neighbour_boost == 0.0
