"""The HTTP embedder against a server that answers in each protocol, fails, and recovers."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from mcp_memory_service.embeddings import json_server
from mcp_memory_service.embeddings.http import EmbeddingApi, EmbeddingServer, HttpEmbedder
from mcp_memory_service.errors import EmbedderUnavailable

Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_server, "FIRST_PAUSE_SECONDS", 0.001)


def embedder(answer: Answer, api: EmbeddingApi = "openai", dimension: int | None = None, **more: Any) -> HttpEmbedder:
    server = EmbeddingServer("http://embed.test/v1/", api, "m1", api_key="secret", dimension=dimension, **more)
    return HttpEmbedder(server, transport=httpx.MockTransport(answer))


def lengths_as_vectors(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, 0.0] for text in texts]


def openai(request: httpx.Request) -> httpx.Response:
    assert (request.url.path, request.headers["authorization"]) == ("/v1/embeddings", "Bearer secret")
    body = json.loads(request.content)
    assert body["model"] == "m1"
    rows = [{"index": i, "embedding": row} for i, row in enumerate(lengths_as_vectors(body["input"]))]
    return httpx.Response(200, json={"data": rows[::-1]})


def ollama(request: httpx.Request) -> httpx.Response:
    assert request.url.path == "/v1/api/embed"
    return httpx.Response(200, json={"embeddings": lengths_as_vectors(json.loads(request.content)["input"])})


def tei(request: httpx.Request) -> httpx.Response:
    assert request.url.path == "/v1/embed"
    return httpx.Response(200, json=lengths_as_vectors(json.loads(request.content)["inputs"]))


@pytest.mark.parametrize(("api", "answer"), [("openai", openai), ("ollama", ollama), ("tei", tei)])
async def test_each_protocol_gives_unit_vectors_in_order(api: EmbeddingApi, answer: Answer):
    client = embedder(answer, api)
    vectors = await client.embed(["a", "abc"])
    assert np.allclose(vectors[0], np.array([1, 1, 0]) / np.sqrt(2))
    assert np.allclose(vectors[1], np.array([3, 1, 0]) / np.sqrt(10))
    assert (client.model_id, client.dimension) == (f"{api}:m1", 3)
    await client.close()


async def test_queries_and_documents_may_have_prefixes_which_are_part_of_the_model():
    asked: list[str] = []

    def noting(request: httpx.Request) -> httpx.Response:
        asked.extend(json.loads(request.content)["input"])
        return openai(request)

    plain = embedder(noting)
    client = embedder(noting, query_prefix="query: ", document_prefix="passage: ", max_tokens=128)
    await client.embed(["a"])
    await client.embed_query("b")
    assert asked == ["passage: a", "query: b"]
    other = embedder(noting, query_prefix="search: ")
    assert (plain.model_id, plain.max_tokens, client.max_tokens) == ("openai:m1", None, 128)
    assert len({plain.model_id, client.model_id, other.model_id}) == 3


async def test_texts_are_sent_in_batches():
    sizes: list[int] = []

    def counting(request: httpx.Request) -> httpx.Response:
        sizes.append(len(json.loads(request.content)["input"]))
        return openai(request)

    assert len(await embedder(counting, max_batch=4).embed([str(i) for i in range(10)])) == 10
    assert sizes == [4, 4, 2]


@pytest.mark.parametrize("fault", [503, 429, "cut"])
async def test_a_passing_fault_is_tried_again(fault: int | str):
    calls: list[int] = []

    def recovering(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        if len(calls) < 3:
            if fault == "cut":
                raise httpx.ReadError("connection reset")
            return httpx.Response(int(fault))
        return openai(request)

    assert len(await embedder(recovering).embed(["a"])) == 1
    assert len(calls) == 3


async def test_a_lasting_fault_is_given_up_after_a_few_tries():
    calls: list[int] = []

    def down(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        raise httpx.ConnectTimeout("no route")

    with pytest.raises(EmbedderUnavailable, match="ConnectTimeout"):
        await embedder(down).embed(["a"])
    assert len(calls) == json_server.ATTEMPTS


async def test_a_refusal_is_not_repeated():
    calls: list[int] = []

    def refusing(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        return httpx.Response(401)

    with pytest.raises(EmbedderUnavailable, match="HTTP 401"):
        await embedder(refusing).warm_up()
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("not json", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"data": []}', "0 vectors for 1 texts"),
        ('{"rows": []}', "unknown form"),
        ("[]", "unknown form"),
        ('{"data": [{"index": 0, "embedding": [0, 0]}]}', "unknown form"),
        ('{"data": [{"index": 0, "embedding": [NaN, 1]}]}', "unknown form"),
        ('{"data": [{"index": 0, "embedding": ["x"]}]}', "unknown form"),
        ('{"data": [{"index": 0, "embedding": [[1]]}]}', "unknown form"),
        ('{"data": [{"index": 0, "embedding": [1, 2]}]}', "2 numbers where 3 are expected"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_an_error(body: str, complaint: str):
    client = embedder(lambda _: httpx.Response(200, text=body), dimension=3)
    with pytest.raises(EmbedderUnavailable, match=complaint):
        await client.embed(["a"])


async def test_all_tries_together_keep_the_time_out():
    async def hanging(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    client = HttpEmbedder(
        EmbeddingServer("http://embed.test", "openai", "m1", timeout_seconds=0.05), httpx.MockTransport(hanging)
    )
    with pytest.raises(EmbedderUnavailable, match="no answer within"):
        await client.embed(["a"])


async def test_errors_hold_no_secrets():
    def failing(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"cannot reach {request.url} with {request.headers['authorization']}")

    server = EmbeddingServer("http://user:hunter2@embed.test", "openai", "m1", api_key="sk-secret")
    with pytest.raises(EmbedderUnavailable) as caught:
        await HttpEmbedder(server, httpx.MockTransport(failing)).embed(["a"])
    assert "hunter2" not in caught.value.message
    assert "secret" not in caught.value.message
