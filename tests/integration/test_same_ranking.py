"""The motivating case, and one ranking behind all three doors."""

import asyncio
import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from tests.integration.conftest import Finished, Server, server_process
from tests.support.corpus import RATHOLE, RATHOLE_QUERY, corpus_with_rathole
from tests.support.mcp_answers import good_text, shown_memories
from tests.support.patience import HANG_SECONDS

BATCH = 200


def fill(url: str, memories: list[dict[str, Any]]) -> None:
    for start in range(0, len(memories), BATCH):
        body = {"memories": memories[start : start + BATCH]}
        httpx.post(f"{url}/memories/batch", json=body, timeout=HANG_SECONDS).raise_for_status()


@pytest.fixture(scope="module", params=[50, 600])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Server, None, None]:
    with server_process(tmp_path_factory.mktemp(f"corpus{request.param}")) as server:
        fill(server.url, corpus_with_rathole(request.param))
        yield server


def by_rest(server: Server, **request: Any) -> dict[str, Any]:
    answer = httpx.post(f"{server.url}/memories/retrieve", json=request, timeout=HANG_SECONDS)
    answer.raise_for_status()
    return answer.json()


def by_mcp(server: Server, **request: Any) -> str:
    async def call() -> str:
        async with Client(f"{server.url}/mcp") as client:
            return good_text(await client.call_tool("retrieve_memory", request))

    return asyncio.run(call())


def by_cli(server: Server, run_cli: Callable[..., Finished], *flags: str, **environment: str) -> dict[str, Any]:
    environment["MCP_MEMORY_SQLITE_PATH"] = str(Path(server.log).with_name("server.db"))
    done = run_cli("search", RATHOLE_QUERY, "--json", *flags, **environment)
    assert done.code == 0, done.err
    return json.loads(done.out)


def shown(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """What a model is shown of a ranking."""
    return [(hit["memory"]["content_hash"][:12], hit["memory"]["content"]) for hit in answer["results"]]


def shown_by(text: str) -> list[tuple[str, str]]:
    return [(memory.id, memory.content) for memory in shown_memories(text)]


def ranking(answer: dict[str, Any]) -> list[tuple[str, float]]:
    return [(hit["memory"]["content_hash"], round(hit["score"], 6)) for hit in answer["results"]]


def test_the_rathole_memory_is_first_by_every_door_and_all_agree(filled: Server, run_cli: Callable[..., Finished]):
    answers = [by_rest(filled, query=RATHOLE_QUERY), by_cli(filled, run_cli)]
    for answer in answers:
        assert answer["results"][0]["memory"]["content"] == RATHOLE["content"]
        assert answer["results"][0]["score"] == 1.0
        assert answer["degraded"] == []
    assert ranking(answers[0]) == ranking(answers[1])
    assert shown_by(by_mcp(filled, query=RATHOLE_QUERY)) == shown(answers[0])
    assert len({answer["alpha_used"] for answer in answers}) == 1


def test_vectors_alone_get_it_wrong(filled: Server, run_cli: Callable[..., Finished]):
    """Or the case would prove nothing."""
    vectors_only = by_rest(filled, query=RATHOLE_QUERY, alpha=1.0)
    assert vectors_only["results"][0]["memory"]["content"] != RATHOLE["content"]
    by_setting = by_cli(filled, run_cli, MCP_MEMORY_HYBRID_ALPHA="1.0")
    assert ranking(by_setting) == ranking(vectors_only)
    similarities = [hit["similarity"] for hit in by_setting["results"]]
    assert similarities == sorted(similarities, reverse=True)


def test_alpha_0_is_the_tag_order(filled: Server, run_cli: Callable[..., Finished]):
    tags_only = by_cli(filled, run_cli, "--debug", MCP_MEMORY_HYBRID_ALPHA="0.0")
    assert tags_only["results"][0]["memory"]["content"] == RATHOLE["content"]
    scores = [hit["debug"]["tag_score"] for hit in tags_only["results"]]
    assert scores == sorted(scores, reverse=True)
    assert ranking(tags_only) == ranking(by_rest(filled, query=RATHOLE_QUERY, alpha=0.0))


def test_the_three_doors_agree_on_filters_pages_and_debug(filled: Server, run_cli: Callable[..., Finished]):
    request = {"tags": ["cachekit"], "page": 2, "page_size": 3, "memory_type": "note", "debug": True}
    rest = by_rest(filled, query=RATHOLE_QUERY, **request)
    mcp = by_mcp(filled, query=RATHOLE_QUERY, **request)
    cli = by_cli(filled, run_cli, "--tag", "cachekit", "--page", "2", "--limit", "3", "--type", "note", "--debug")
    assert len(rest["results"]) == 3
    assert ranking(rest) == ranking(cli)
    assert shown_by(mcp) == shown(rest)
    pages = ("total", "total_pages", "has_more")
    assert [cli[name] for name in pages] == [rest[name] for name in pages]
    assert f"{rest['total']} found, page 2 of {rest['total_pages']}, " in mcp
    (note,) = shown_memories(mcp)[0].notes
    debug = json.loads(note.removeprefix("¶ debug "))
    assert rest["results"][0]["debug"].keys() == cli["results"][0]["debug"].keys() >= debug.keys()
    assert debug["final_score"] == pytest.approx(rest["results"][0]["debug"]["final_score"], rel=1e-3)


def test_the_rathole_memory_is_first_without_its_tag_too(filled: Server):
    """Its name stands in its text and nowhere else: the keyword signal knows."""
    (hit,) = by_rest(filled, query=RATHOLE_QUERY, tags=["rathole"])["results"]
    url = f"{filled.url}/memories/{hit['memory']['content_hash']}"
    httpx.patch(url, json={"tags": []}, timeout=HANG_SECONDS).raise_for_status()
    try:
        answer = by_rest(filled, query=RATHOLE_QUERY)
        assert answer["results"][0]["memory"]["content"] == RATHOLE["content"]
        assert "tag" not in answer["results"][0]["provenance"]
    finally:
        httpx.patch(url, json={"tags": RATHOLE["tags"]}, timeout=HANG_SECONDS).raise_for_status()
