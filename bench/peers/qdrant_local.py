"""qdrant-client in local mode: the same query as on a server, answered by scanning in Python.

Sparse vectors are made by Qdrant Edge's BM25, which has the token ids of the server; the client itself would download a
model to make them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from qdrant_client import QdrantClient, models

from feed import Batch, Vector

PREFETCHED = 100


class Peer:
    packages = ("qdrant-client",)

    def __init__(self) -> None:
        self._bm25 = edge.Bm25(edge.Bm25Config(language="english"))

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        self.open(folder)
        self._client.create_collection(
            "memories",
            vectors_config={"meaning": models.VectorParams(size=384, distance=models.Distance.COSINE)},
            sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        for batch in batches:
            rows = zip(batch.texts, batch.vectors.tolist(), strict=True)
            points = [
                models.PointStruct(
                    id=batch.first + n,
                    vector={"meaning": vector, "words": _sparse(self._bm25.embed_document(text))},
                    payload={"text": text},
                )
                for n, (text, vector) in enumerate(rows)
            ]
            self._client.upsert("memories", points)
        self._client.close()

    def open(self, folder: Path) -> None:
        self._client = QdrantClient(path=str(folder))

    def vector(self, vector: Vector, k: int) -> list[int]:
        return self._numbers(query=vector.tolist(), using="meaning", limit=k)

    def keyword(self, text: str, k: int) -> list[int]:
        return self._numbers(query=_sparse(self._bm25.embed_query(text)), using="words", limit=k)

    def hybrid(self, text: str, vector: Vector, k: int) -> list[int]:
        both = [
            models.Prefetch(query=vector.tolist(), using="meaning", limit=PREFETCHED),
            models.Prefetch(query=_sparse(self._bm25.embed_query(text)), using="words", limit=PREFETCHED),
        ]
        return self._numbers(prefetch=both, query=models.FusionQuery(fusion=models.Fusion.RRF), limit=k)

    def _numbers(self, **asked: Any) -> list[int]:
        return [point.id for point in self._client.query_points("memories", with_payload=True, **asked).points]


def _sparse(vector: edge.SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))
