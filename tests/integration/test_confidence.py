"""How sure an answer is, over the whole service with the real model: noise is not an answer."""

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient
from tests.integration.conftest import Finished
from tests.support.fakes import BrokenEmbedder, partly_broken

from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import Confidence, MemoryDraft, SearchMode, SearchRequest
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore

RATHOLE = "Rathole forwards port 2333 of the VPS to the home lab"
OTHERS = ("The bakery opens at seven", "CSS grid for the landing page")
ASKED = "which port does rathole use?"
NOISE = "how tall is mount everest"
HINTS = "Nothing stored seems to answer this; the best three are hints."


@pytest.fixture
async def real_store(local_embedder: LocalEmbedder) -> MemoryStore:
    return await MemoryStore.open(local_embedder.model_id, local_embedder.dimension, indexed_text)


@pytest.fixture
async def three(real_store: MemoryStore, local_embedder: LocalEmbedder) -> MemoryService:
    service = MemoryService(real_store, local_embedder)
    await service.store_batch([MemoryDraft(RATHOLE, tags=("rathole",)), *(MemoryDraft(text) for text in OTHERS)])
    return service


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
async def test_among_three_memories_an_answer_is_high_and_noise_is_none(three: MemoryService, mode: SearchMode):
    answered = await three.search(SearchRequest(ASKED, mode=mode))
    assert (answered.confidence, answered.confidence_note) == ("high", None)
    noise = await three.search(SearchRequest(NOISE, mode=mode))
    assert (noise.confidence, noise.confidence_note, len(noise.results)) == ("none", HINTS, 3)
    assert noise.results[0].score == 1.0


async def test_by_words_alone_it_is_the_words_that_count(three: MemoryService):
    exact = await three.search(SearchRequest("rathole port", mode="keyword"))
    assert exact.confidence == "high"
    nothing = await three.search(SearchRequest(NOISE, mode="keyword"))
    assert (nothing.confidence, nothing.confidence_note) == ("none", "Nothing stored matches this.")


@pytest.mark.parametrize(("least", "found"), [("low", 0), ("high", 0), (None, 3)])
async def test_min_confidence_cuts_all_pages_and_says_so(three: MemoryService, least: Confidence | None, found: int):
    for page in (1, 2):
        answer = await three.search(SearchRequest(NOISE, page=page, page_size=2, min_confidence=least))
        assert (answer.confidence, answer.paging.total) == ("none", found)
        assert bool(answer.results) == bool(found)
        assert answer.paging.has_more == (bool(found) and page == 1)
        cut = "Nothing stored answers this as surely as min_confidence asks: the confidence is none."
        assert answer.confidence_note == (HINTS if found else cut)


async def test_min_confidence_leaves_a_sure_answer_as_it_is(three: MemoryService):
    plain = await three.search(SearchRequest(ASKED))
    asked = await three.search(SearchRequest(ASKED, min_confidence="high"))
    assert [hit.memory for hit in asked.results] == [hit.memory for hit in plain.results]
    assert (asked.confidence, asked.cut, asked.paging) == (plain.confidence, False, plain.paging)


async def test_an_empty_store_answers_nothing(real_store: MemoryStore, local_embedder: LocalEmbedder):
    found = await MemoryService(real_store, local_embedder).search(SearchRequest(ASKED, min_confidence="low"))
    assert (found.confidence, found.confidence_note) == ("none", "Nothing stored matches this.")


async def test_a_tag_alone_is_no_evidence(three: MemoryService):
    """It says what may be found, not that it answers."""
    assert (await three.search(SearchRequest(NOISE, tags=("rathole",)))).confidence == "none"
    by_tags_only = await three.search(SearchRequest("rathole", alpha=0.0))
    assert (by_tags_only.confidence, len(by_tags_only.results)) == ("low", 1)


async def test_a_given_alpha_changes_no_confidence_for_good(three: MemoryService):
    for alpha in (0.1, 0.5, 1.0):
        assert (await three.search(SearchRequest(ASKED, alpha=alpha))).confidence == "high"
        assert (await three.search(SearchRequest(NOISE, alpha=alpha))).confidence == "none"


async def test_a_similarity_that_is_asked_for_drops_hits_and_no_evidence(three: MemoryService):
    found = await three.search(SearchRequest("rathole tunnel", min_similarity=0.99))
    assert [hit.memory.content for hit in found.results] == [RATHOLE]
    assert found.confidence == (await three.search(SearchRequest("rathole tunnel"))).confidence


async def test_what_is_left_of_a_search_judges_by_itself(three: MemoryService, real_store: MemoryStore):
    words = MemoryService(real_store, BrokenEmbedder())
    assert (await words.retrieve_memories("rathole port")).confidence == "high"


@pytest.mark.parametrize("part", ["search_by_text", "sample_vectors", "corpus_statistics"])
async def test_a_part_that_fails_leaves_the_rest_to_judge(
    three: MemoryService, real_store: MemoryStore, local_embedder: LocalEmbedder, part: str
):
    service = MemoryService(partly_broken(real_store, part), local_embedder)
    found = await service.retrieve_memories(ASKED)
    assert found.degraded
    assert found.confidence == "high"
    assert (await service.retrieve_memories(NOISE)).confidence == "none"


async def test_who_is_held_to_a_tag_learns_nothing_of_the_others(three: MemoryService):
    held = three.held_to(["rathole"])
    before = [(await held.retrieve_memories(query)).confidence for query in (ASKED, "bakery opening hours", NOISE)]
    await three.store_batch([MemoryDraft(f"Rathole uses port {port}, the bakery opens then") for port in range(20)])
    after = [(await held.retrieve_memories(query)).confidence for query in (ASKED, "bakery opening hours", NOISE)]
    assert after == before


def test_rest_answers_with_it_and_takes_a_bound(rest: TestClient):
    for content in (RATHOLE, *OTHERS):
        assert rest.post("/memories", json={"content": content}).status_code == 201
    answered = rest.post("/memories/retrieve", json={"query": ASKED}).json()
    assert (answered["confidence"], answered["confidence_note"]) == ("high", None)
    noise = rest.post("/memories/retrieve", json={"query": NOISE}).json()
    assert (noise["confidence"], noise["confidence_note"], noise["total"]) == ("none", HINTS, 3)
    cut = rest.post("/memories/retrieve", json={"query": NOISE, "min_confidence": "low"}).json()
    assert (cut["confidence"], cut["results"], cut["total"], cut["total_pages"]) == ("none", [], 0, 0)
    refused = rest.post("/memories/retrieve", json={"query": NOISE, "min_confidence": "some"})
    assert refused.status_code == 422
    assert "min_confidence" in refused.text


def test_the_command_line_says_it_and_shows_three_hints(run_cli: Callable[..., Finished]):
    lines = [json.dumps({"content": text}) for text in (RATHOLE, *OTHERS, "Tyres are changed in May", "Tea is green")]
    assert run_cli("import", "-", stdin="\n".join(lines)).code == 0
    assert "Confidence: high.\n" in run_cli("search", ASKED).out
    noise = run_cli("search", NOISE).out
    assert "5 ranked, page 1 of 1" in noise
    assert f"Confidence: none. {HINTS}\n" in noise
    assert noise.count("| vector #") == 3
    assert "score" not in run_cli("search", NOISE, "--min-confidence", "low").out
