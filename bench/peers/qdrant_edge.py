"""Qdrant Edge, the engine in the process: HNSW and its own BM25 as sparse vectors, fused by RRF, optimized after
loading."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import qdrant_edge as edge

from feed import Batch, Vector

PREFETCHED = 100


class Peer:
    packages = ("qdrant-edge-py",)
    steps = tuple({"hnsw_ef": ef} for ef in (128, 192, 256, 384, 512, 768, 1024))  # 100 by default
    settings: Mapping[str, int] = {}

    def __init__(self) -> None:
        self._bm25 = edge.Bm25(edge.Bm25Config(language="english"))

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        config = edge.EdgeConfig(
            vectors={"meaning": edge.EdgeVectorParams(size=384, distance=edge.Distance.Cosine)},
            sparse_vectors={"words": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        )
        shard = edge.EdgeShard.create(str(folder / "shard"), config)
        for batch in batches:
            rows = zip(batch.texts, batch.vectors.tolist(), strict=True)
            points = [
                edge.Point(
                    batch.first + n, {"meaning": vector, "words": self._bm25.embed_document(text)}, {"text": text}
                )
                for n, (text, vector) in enumerate(rows)
            ]
            shard.update(edge.UpdateOperation.upsert_points(points))
        while shard.optimize():  # true as long as there was something to do
            pass
        shard.close()

    def open(self, folder: Path) -> None:
        self._shard = edge.EdgeShard.load(str(folder / "shard"))

    def vector(self, vector: Vector, k: int) -> list[int]:
        params = edge.SearchParams(**self.settings)
        return self._numbers(edge.QueryRequest(limit=k, query=self._nearest(vector), params=params, with_payload=True))

    def keyword(self, text: str, k: int) -> list[int]:
        return self._numbers(edge.QueryRequest(limit=k, query=self._wording(text), with_payload=True))

    def hybrid(self, text: str, vector: Vector, k: int) -> list[int]:
        both = [
            edge.Prefetch(PREFETCHED, query=self._nearest(vector), params=edge.SearchParams(**self.settings)),
            edge.Prefetch(PREFETCHED, query=self._wording(text)),
        ]
        return self._numbers(
            edge.QueryRequest(limit=k, prefetches=both, query=edge.Fusion.Rrf(k=60), with_payload=True)
        )

    def _nearest(self, vector: Vector) -> edge.Query:
        return edge.Query.Nearest(vector.tolist(), using="meaning")

    def _wording(self, text: str) -> edge.Query:
        return edge.Query.Nearest(self._bm25.embed_query(text), using="words")

    def _numbers(self, asked: edge.QueryRequest) -> list[int]:
        return [point.id for point in self._shard.query(asked)]
