"""The HTTP re-ranker against servers on loopback that answer in each protocol, fail, and recover."""

import json
from typing import Any

import pytest
from tests.support.rerank_server import Answer, cohere, rerank_server, tei

from mcp_memory_service.embeddings import json_server
from mcp_memory_service.errors import RerankerUnavailable
from mcp_memory_service.rerank.http import MAX_BATCH, HttpReranker, RerankApi, RerankServer

QUERY, TEXTS = "port of rathole", ["nothing", "the port of rathole", "rathole"]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_server, "FIRST_PAUSE_SECONDS", 0.001)


async def scores(url: str, api: RerankApi = "tei", texts: list[str] = TEXTS, **more: Any) -> list[float]:
    reranker = HttpReranker(RerankServer(url, api, **more))
    try:
        return await reranker.scores(QUERY, texts)
    finally:
        await reranker.close()


async def test_tei_is_asked_for_raw_scores_which_come_in_the_order_of_the_texts():
    with rerank_server(tei) as server:
        assert await scores(f"{server.url}/", api_key="secret") == [0.0, 3.0, 1.0]
    body = {"query": QUERY, "texts": TEXTS, "raw_scores": True, "truncate": True}
    assert server.asked == [("/rerank", "Bearer secret", body)]


async def test_the_protocol_of_cohere_names_the_model_and_asks_for_every_text():
    with rerank_server(cohere) as server:
        assert await scores(f"{server.url}/v2", "cohere", model="rerank-m") == [0.0, 3.0, 1.0]
    body = {"model": "rerank-m", "query": QUERY, "documents": TEXTS, "top_n": 3}
    assert server.asked == [("/v2/rerank", None, body)]


def test_the_model_has_a_name():
    assert HttpReranker(RerankServer("http://127.0.0.1:9", "cohere", "rerank-m")).model_id == "cohere:rerank-m"
    assert HttpReranker(RerankServer("http://127.0.0.1:9", "tei")).model_id == "tei"


async def test_many_texts_are_sent_in_batches_and_none_are_not_sent():
    texts = [f"rathole {'port ' * (i % 2)}" for i in range(2 * MAX_BATCH + 3)]
    with rerank_server(tei) as server:
        assert await scores(server.url, texts=texts) == [1.0 + i % 2 for i in range(len(texts))]
        assert [len(body["texts"]) for _, _, body in server.asked] == [MAX_BATCH, MAX_BATCH, 3]
        assert await scores(server.url, texts=[]) == []
        assert len(server.asked) == 3


async def test_a_passing_fault_is_tried_again():
    statuses = iter([503, 429])

    def recovering(body: dict[str, Any]) -> tuple[int, str]:
        status = next(statuses, None)
        return tei(body) if status is None else (status, "busy")

    with rerank_server(recovering) as server:
        assert await scores(server.url) == [0.0, 3.0, 1.0]
    assert len(server.asked) == 3


@pytest.mark.parametrize(("status", "tries"), [(500, json_server.ATTEMPTS), (401, 1), (422, 1)])
async def test_a_lasting_fault_is_given_up_and_a_refusal_at_once(status: int, tries: int):
    told = f"The re-ranking server failed .HTTP {status}"
    with rerank_server(lambda _: (status, "no")) as server, pytest.raises(RerankerUnavailable, match=told):
        await scores(server.url)
    assert len(server.asked) == tries


async def test_a_server_that_is_not_there_or_does_not_answer_is_unavailable():
    with pytest.raises(RerankerUnavailable, match="ConnectError"):
        await scores("http://127.0.0.1:9")
    with rerank_server(None) as server, pytest.raises(RerankerUnavailable, match=r"0\.05 s|ReadTimeout"):
        await scores(server.url, timeout_seconds=0.05)


def scored(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"index": index, "score": score} for index, score in pairs]


@pytest.mark.parametrize(
    "answer",
    [
        "not json",
        "[" * 100_000,
        "{}",
        "null",
        "3",
        "[1, 2, 3]",
        "[]",
        json.dumps(scored((0, 1.0), (1, 2.0))),
        json.dumps(scored((0, 1.0), (1, 2.0), (1, 3.0))),
        json.dumps(scored((1, 1.0), (2, 2.0), (3, 3.0))),
        json.dumps(scored((0, 1.0), (1, 2.0), (-1, 3.0))),
        json.dumps(scored((0, 1.0), (1, 2.0), (2, 3.0), (2, 3.0))),
        json.dumps(scored((0, 1.0), (True, 2.0), (2, 3.0))),
        json.dumps(scored((0, 1.0), ("1", 2.0), (2, 3.0))),
        json.dumps(scored((0, 1.0), (1, "2.0"), (2, 3.0))),
        json.dumps(scored((0, 1.0), (1, True), (2, 3.0))),
        json.dumps(scored((0, 1.0), (1, None), (2, 3.0))),
        json.dumps(scored((0, 1.0), (1, float("nan")), (2, 3.0))),
        json.dumps(scored((0, 1.0), (1, float("inf")), (2, 3.0))),
        json.dumps(scored((0, 1.0), (1, -1e200), (2, 3.0))),
        json.dumps([{"index": 0, "relevance_score": 1.0}] * 3),
    ],
)
async def test_an_answer_that_makes_no_sense_is_an_error_and_no_order(answer: str):
    told = r"not JSON|of an unknown form"
    with rerank_server(lambda _: (200, answer)) as server, pytest.raises(RerankerUnavailable, match=told):
        await scores(server.url)


OTHER_FORMS: list[Answer] = [tei, lambda _: (200, '{"results": {}}'), lambda _: (200, '{"results": [{}]}')]


@pytest.mark.parametrize("answer", OTHER_FORMS)
async def test_the_other_protocol_is_an_error_as_well(answer: Answer):
    def lenient(body: dict[str, Any]) -> tuple[int, str]:
        return answer(body | {"texts": body["documents"]})

    with rerank_server(lenient) as server, pytest.raises(RerankerUnavailable, match="of an unknown form"):
        await scores(server.url, "cohere", model="m")
