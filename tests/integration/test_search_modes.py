"""Modes, weights and explanations over the whole service with the real model."""

import pytest

from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.errors import MemoryNotFound
from mcp_memory_service.hybrid_search import RankingPolicy, indexed_text
from mcp_memory_service.models import MemoryDraft, SearchRequest
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.memory import MemoryStore


@pytest.fixture
async def real_store(local_embedder: LocalEmbedder) -> MemoryStore:
    """For the vectors of the real model."""
    return await MemoryStore.open(local_embedder.model_id, local_embedder.dimension, indexed_text)


@pytest.fixture
def real(real_store: MemoryStore, local_embedder: LocalEmbedder) -> MemoryService:
    return MemoryService(real_store, local_embedder)


def contents(found: SearchResult) -> list[str]:
    return [hit.memory.content for hit in found.results]


async def test_an_exact_name_is_found_among_a_hundred_about_the_same(real: MemoryService):
    topics = ("login form", "password reset", "session cookie", "OAuth callback", "token refresh")
    await real.store_batch([MemoryDraft(f"Authentication of users: {topics[i % 5]}, case {i}") for i in range(100)])
    await real.store_memory(MemoryDraft("authenticate_user() compares the hash and returns the account"))
    for mode in ("hybrid", "keyword"):
        found = await real.search(SearchRequest("authenticate_user", mode=mode))
        assert contents(found)[0].startswith("authenticate_user()")
        assert found.mode == mode


async def test_jwt_and_meaning(real: MemoryService):
    await real.store_batch(
        [
            MemoryDraft("JWT token validation"),
            MemoryDraft("verify_credentials() checks the login and password of a user"),
            MemoryDraft("The bakery opens at seven"),
            MemoryDraft("CSS grid for the landing page"),
        ]
    )
    assert contents(await real.retrieve_memories("JWT"))[0] == "JWT token validation"
    for mode in ("hybrid", "semantic"):
        found = await real.search(SearchRequest("how does auth work", mode=mode))
        assert "verify_credentials() checks the login and password of a user" in contents(found)[:2]
    assert contents(await real.search(SearchRequest("how does auth work", mode="keyword"))) == []


async def test_a_mode_asks_its_signal_alone(real: MemoryService):
    await real.store_batch([MemoryDraft(f"tunnel number {i}", tags=("tunnel",)) for i in range(5)])
    for mode, signal in (("semantic", "vector"), ("keyword", "keyword")):
        found = await real.search(SearchRequest("tunnel", mode=mode))  # pyright: ignore[reportArgumentType]
        assert {frozenset(hit.provenance) for hit in found.results} == {frozenset({signal})}
    hybrid = await real.retrieve_memories("tunnel")
    assert set(hybrid.results[0].provenance) == {"vector", "keyword", "tag"}


async def test_weights_move_the_answer(real: MemoryService):
    await real.store_memory(MemoryDraft("The vehicle needs new tyres before winter"))
    await real.store_memory(MemoryDraft("car car car"))
    words = await real.search(SearchRequest("car maintenance", fts_weight=1.0, vector_weight=0.0))
    assert contents(words)[0] == "car car car"
    assert words.alpha_used < 0.001
    meaning = await real.search(SearchRequest("car maintenance", fts_weight=0.0, vector_weight=1.0))
    assert meaning.alpha_used > 0.999


async def test_score_fusion_is_a_setting(real_store: MemoryStore, local_embedder: LocalEmbedder):
    service = MemoryService(real_store, local_embedder, RankingPolicy(fusion="score"))
    await service.store_batch([MemoryDraft(f"note {i} about the tunnel", tags=("t",)) for i in range(8)])
    found = await service.search(SearchRequest("tunnel note 3", debug=True))
    scores = [hit.score for hit in found.results]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    debug = found.results[0].debug
    assert debug is not None
    assert debug.fusion == "score"
    parts = sum(vote.contribution for vote in debug.contributions.values())
    assert debug.final_score == pytest.approx(parts * debug.recency_factor)


async def test_explain_follows_a_memory_that_was_returned(real: MemoryService):
    stored = await real.store_batch([MemoryDraft(f"tunnel number {i}", tags=("tunnel",)) for i in range(5)])
    found = await real.search(SearchRequest("tunnel number 3", debug=True))
    second = found.results[1]
    explained = await real.explain(SearchRequest("tunnel number 3"), second.memory.content_hash)
    assert (explained.rank, explained.total, explained.on_first_page) == (2, len(stored), True)
    voted = {name: vote.rank for name, vote in explained.signals.items() if vote.contribution > 0}
    assert voted == {name: placed.rank for name, placed in second.provenance.items()}
    assert second.debug is not None
    assert explained.final_score == pytest.approx(second.debug.final_score, rel=1e-6)
    assert explained.outranked_by[0].memory == found.results[0].memory
    assert explained.alpha_for_first_page is None
    assert explained.summary == "It is number 2 of 5."


async def test_explain_tells_what_filters_leave_out(real: MemoryService):
    (stored,) = await real.store_batch([MemoryDraft("tunnel", tags=("a",), memory_type="fix", created_at=1_000)])
    key = stored.memory.content_hash
    explained = await real.explain(
        SearchRequest("tunnel", tags=("b",), memory_type="note", after=2_000, before=500), key
    )
    assert explained.filtered_by == ("tags", "memory_type", "after", "before")
    assert explained.rank is None
    assert explained.signals["keyword"].rank == 1
    assert "left out by: tags, memory_type, after, before" in explained.summary
    too_far = await real.explain(SearchRequest("a bakery", min_similarity=0.99), key)
    assert too_far.filtered_by == ("min_similarity",)


async def test_explain_finds_the_smallest_change_of_alpha(real: MemoryService):
    await real.store_batch([MemoryDraft(f"tunnel tunnel tunnel {i}", tags=("tunnel",)) for i in range(30)])
    (stored,) = await real.store_batch([MemoryDraft("An underground passage for traffic")])
    key = stored.memory.content_hash
    explained = await real.explain(SearchRequest("tunnel", page_size=5, alpha=0.3), key)
    assert explained.rank is not None
    assert explained.rank > 5
    if explained.alpha_for_first_page is None:
        for alpha in (0.0, 0.5, 0.9, 1.0):
            found = await real.search(SearchRequest("tunnel", page_size=5, alpha=alpha))
            assert key not in {hit.memory.content_hash for hit in found.results}
        assert "no alpha would" in explained.summary
    easy = await real.explain(SearchRequest("tunnel", page_size=31, alpha=0.3), key)
    assert easy.alpha_for_first_page is None
    semantic = await real.explain(SearchRequest("tunnel", page_size=5, mode="semantic"), key)
    assert "has no alpha" in semantic.summary


async def test_the_explained_alpha_really_works(real: MemoryService):
    await real.store_batch([MemoryDraft(f"deployment pipeline step {i} of the build") for i in range(20)])
    (stored,) = await real.store_batch([MemoryDraft("Completely unrelated text", tags=("pipeline",))])
    key = stored.memory.content_hash
    explained = await real.explain(SearchRequest("deployment pipeline of the build", page_size=3, alpha=0.95), key)
    assert explained.rank is not None
    assert explained.rank > 3
    assert explained.alpha_for_first_page is not None
    for alpha, expected in ((explained.alpha_for_first_page, True), (explained.alpha_for_first_page + 0.01, False)):
        found = await real.search(SearchRequest("deployment pipeline of the build", page_size=3, alpha=alpha))
        assert (key in {hit.memory.content_hash for hit in found.results}) is expected


async def test_explaining_an_unknown_memory_is_not_found(real: MemoryService):
    with pytest.raises(MemoryNotFound):
        await real.explain(SearchRequest("tunnel"), "0" * 64)
