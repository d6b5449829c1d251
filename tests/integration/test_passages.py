"""A long hit shows the passage that answers, whatever finds it and whichever door is asked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.integration.conftest import Finished
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


def found_over_rest(rest: TestClient, **fields: Any) -> dict[str, dict[str, Any]]:
    """The hits by their ids."""
    answer = rest.post("/memories/retrieve", json={"query": QUERY, **fields}).json()
    return {hit["memory"]["content_hash"]: hit for hit in answer["results"]}


def test_rest_gives_passages_in_place_of_long_contents(rest: TestClient):
    medium = f"{ANSWER}\n{'The pool is checked every morning. ' * 80}"
    short = "The pgbouncer pool is on finch."
    assert 1_500 < len(medium) <= 4_000
    ids = [
        rest.post("/memories", json={"content": content}).json()["content_hash"] for content in (RUNBOOK, medium, short)
    ]
    long_hit, medium_hit, short_hit = map(found_over_rest(rest).__getitem__, ids)
    memory, passages = long_hit["memory"], long_hit["passages"]
    assert memory["content"] == " … ".join(passage["text"] for passage in passages)
    assert ANSWER in memory["content"]
    assert len(memory["content"]) <= 1_510
    assert (memory["content_length"], memory["content_cut"]) == (len(RUNBOOK), True)
    assert all(RUNBOOK[each["start"] :].startswith(each["text"]) for each in passages)
    assert medium_hit["memory"]["content"] == medium
    assert any("pgbouncer" in each["text"] for each in medium_hit["passages"])
    assert short_hit["memory"]["content"] == short
    assert "passages" not in short_hit
    for hit in (medium_hit, short_hit):
        assert hit["memory"].keys().isdisjoint({"content_length", "content_cut"})
    assert rest.get(f"/memories/{ids[0]}").json()["content"] == RUNBOOK
    whole = found_over_rest(rest, full=True)[ids[0]]
    assert whole["memory"] == rest.get(f"/memories/{ids[0]}").json()
    assert "passages" not in whole


def test_a_rest_listing_has_the_beginning_of_long_contents(rest: TestClient):
    edge = "x" * 4_000
    for content in (RUNBOOK, edge):
        rest.post("/memories", json={"content": content})
    in_part = {memory["content"]: memory for memory in rest.get("/memories").json()["memories"]}
    assert in_part.keys() == {edge, RUNBOOK[:1_500]}
    assert "content_cut" not in in_part[edge]
    cut = in_part[RUNBOOK[:1_500]]
    assert (cut["content_length"], cut["content_cut"]) == (len(RUNBOOK), True)
    whole = rest.get("/memories", params={"full": "true"}).json()["memories"]
    assert {memory["content"] for memory in whole} == {RUNBOOK, edge}


def test_the_command_line_shows_passages_and_short_ids(run_cli: Callable[..., Finished]):
    stored = json.loads(run_cli("store", "-", "--json", stdin=RUNBOOK).out)["content_hash"]
    found = run_cli("search", QUERY).out
    assert " ".join(ANSWER.split()) in found
    assert "Step 1 " not in found
    assert stored[:12] in found
    assert stored[:13] not in found
    assert "### Step 1\n     The backup" in run_cli("search", QUERY, "--full").out
    assert json.loads(run_cli("search", QUERY, "--json").out)["results"][0]["memory"]["content_cut"] is True
    assert json.loads(run_cli("search", QUERY, "--json", "--full").out)["results"][0]["memory"]["content"] == RUNBOOK
    assert ANSWER.splitlines()[1] in run_cli("list", "--full").out


def test_what_is_listed_as_json_can_be_imported(run_cli: Callable[..., Finished], tmp_path: Path):
    run_cli("store", "-", stdin=RUNBOOK)
    (memory,) = json.loads(run_cli("list", "--json").out)["memories"]
    elsewhere = {"MCP_MEMORY_SQLITE_PATH": str(tmp_path / "elsewhere.db")}
    assert run_cli("import", "-", stdin=json.dumps(memory), **elsewhere).code == 0
    assert json.loads(run_cli("list", "--json", **elsewhere).out)["memories"] == [memory]
