"""Scores from a re-ranking server that speaks the protocol of TEI, or that of Cohere, Jina, vLLM and others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..embeddings.json_server import JsonServer
from ..errors import RerankerUnavailable
from .base import MAX_SCORE

RerankApi: TypeAlias = Literal["tei", "cohere"]

# What TEI takes in one request unless it is told otherwise (--max-client-batch-size).
MAX_BATCH = 32
PATH = "/rerank"


@dataclass(frozen=True, slots=True)
class RerankServer:
    url: str
    api: RerankApi
    model: str | None = None
    """TEI has one model, and is not asked for it."""
    api_key: str | None = None
    timeout_seconds: float = 2.0


class HttpReranker:
    """Passing faults are tried again a bounded number of times, within the time-out."""

    def __init__(self, server: RerankServer) -> None:
        self._server = server
        self._asked = JsonServer(
            "The re-ranking server", server.url, server.api_key, server.timeout_seconds, RerankerUnavailable
        )

    @property
    def model_id(self) -> str:
        return f"{self._server.api}:{self._server.model}" if self._server.model else self._server.api

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        batches = [texts[start : start + MAX_BATCH] for start in range(0, len(texts), MAX_BATCH)]
        return [score for batch in batches for score in await self._batch_scores(query, list(batch))]

    async def warm_up(self) -> None:
        await self.scores("warm up", ["warm up"])

    async def close(self) -> None:
        await self._asked.close()

    async def _batch_scores(self, query: str, texts: list[str]) -> list[float]:
        answer = await self._asked.post(PATH, _body(self._server, query, texts))
        try:
            return _in_order(_scored(self._server.api, answer), len(texts))
        except (KeyError, TypeError, ValueError) as error:
            raise self._asked.unusable(f"an answer of an unknown form: {error!r}") from error


def _body(server: RerankServer, query: str, texts: list[str]) -> dict[str, object]:
    match server.api:
        case "tei":
            return {"query": query, "texts": texts, "raw_scores": True, "truncate": True}
        case "cohere":
            return {"model": server.model, "query": query, "documents": texts, "top_n": len(texts)}


def _scored(api: RerankApi, answer: Any) -> list[tuple[Any, Any]]:
    """Which text has which score, in whatever order."""
    match api:
        case "tei":
            return [(item["index"], item["score"]) for item in answer]
        case "cohere":
            return [(item["index"], item["relevance_score"]) for item in answer["results"]]


def _in_order(scored: list[tuple[Any, Any]], texts: int) -> list[float]:
    """ValueError unless every text has one sound score: a text that is left out would silently come last."""
    found: dict[int, float] = {}
    for index, score in scored:
        if type(index) is not int or type(score) not in {int, float} or not abs(score) <= MAX_SCORE:
            raise ValueError(f"the score {score!r} of the text {index!r}")
        found[index] = float(score)
    if len(scored) != texts or found.keys() != set(range(texts)):
        raise ValueError(f"scores of {sorted(found)} for {texts} texts")
    return [found[index] for index in range(texts)]
