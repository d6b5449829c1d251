"""Vectors from an embedding server that speaks the OpenAI, TEI or Ollama protocol."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import httpx
import numpy as np

from ..errors import EmbedderUnavailable
from ..models import Vector
from .json_server import JsonServer

EmbeddingApi: TypeAlias = Literal["openai", "tei", "ollama"]


@dataclass(frozen=True, slots=True)
class EmbeddingServer:
    url: str
    api: EmbeddingApi
    model: str
    api_key: str | None = None
    dimension: int | None = None
    timeout_seconds: float = 30.0
    max_batch: int = 32
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int | None = None


class HttpEmbedder:
    """Asks the server in batches; passing faults are tried again a bounded number of times."""

    def __init__(self, server: EmbeddingServer, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._server = server
        self._dimension = server.dimension
        self._asked = JsonServer(
            "The embedding server",
            server.url,
            server.api_key,
            server.timeout_seconds,
            EmbedderUnavailable,
            transport,
        )

    @property
    def model_id(self) -> str:
        return f"{self._server.api}:{self._server.model}{self._prefixes()}"

    @property
    def dimension(self) -> int | None:
        return self._dimension

    @property
    def max_tokens(self) -> int | None:
        return self._server.max_tokens

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embed([self._server.document_prefix + text for text in texts])

    async def embed_query(self, query: str) -> Vector:
        (vector,) = await self._embed([self._server.query_prefix + query])
        return vector

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        size = self._server.max_batch
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        return [vector for batch in batches for vector in await self._embed_batch(batch)]

    async def warm_up(self) -> None:
        await self.embed_query("warm up")

    async def close(self) -> None:
        await self._asked.close()

    def _prefixes(self) -> str:
        """Vectors with other prefixes are others."""
        prefixes = (self._server.query_prefix, self._server.document_prefix)
        return f"+prefixes-{hashlib.sha256(json.dumps(prefixes).encode()).hexdigest()[:8]}" if any(prefixes) else ""

    async def _embed_batch(self, batch: Sequence[str]) -> list[Vector]:
        path, body = _request(self._server, list(batch))
        answer = await self._asked.post(path, body)
        try:
            rows = _vectors(self._server.api, answer)
            vectors = [_unit_vector(row) for row in rows]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._asked.unusable(f"an answer of an unknown form: {error!r}") from error
        if len(vectors) != len(batch):
            raise self._asked.unusable(f"{len(vectors)} vectors for {len(batch)} texts")
        self._check_dimension(vectors)
        return vectors

    def _check_dimension(self, vectors: list[Vector]) -> None:
        for vector in vectors:
            self._dimension = self._dimension or vector.size
            if vector.size != self._dimension:
                raise self._asked.unusable(f"a vector of {vector.size} numbers where {self._dimension} are expected")


def _request(server: EmbeddingServer, texts: list[str]) -> tuple[str, dict[str, object]]:
    """Path and body of a request in the server's protocol."""
    match server.api:
        case "openai":
            return "/embeddings", {"model": server.model, "input": texts, "encoding_format": "float"}
        case "ollama":
            return "/api/embed", {"model": server.model, "input": texts}
        case "tei":
            return "/embed", {"inputs": texts, "truncate": True}


def _vectors(api: EmbeddingApi, answer: Any) -> list[Any]:
    match api:
        case "openai":
            return [item["embedding"] for item in sorted(answer["data"], key=lambda item: item["index"])]
        case "ollama":
            return list(answer["embeddings"])
        case "tei":
            return list(answer)


def _unit_vector(row: Sequence[float]) -> Vector:
    vector = np.asarray(row, dtype=np.float32)
    length = float(np.linalg.norm(vector))
    if vector.ndim != 1 or not np.isfinite(length) or length == 0.0:
        raise ValueError("a vector that is empty, zero or not finite")
    return (vector / length).astype(np.float32)
