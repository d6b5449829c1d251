"""LanceDB: its hybrid query, fused by its RRF reranker.

Its documentation calls a vector index needless overhead up to about 100,000 rows. It gets one from 50,000 on all the
same, so that an index is compared with an index: the graph with scalar quantization, in one partition as it recommends
for most tables. To find more it has `ef`, the candidates in the graph (1.5 times as many as asked for by default),
and `refine_factor`, the times as many that are ranked again by their exact vectors; `nprobes` means nothing with one
partition.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import lancedb
import pyarrow as pa
from lancedb.index import FTS, HnswSq
from lancedb.query import LanceHybridQueryBuilder, LanceQueryBuilder, LanceVectorQueryBuilder
from lancedb.rerankers import RRFReranker

from feed import Batch, Vector

Nearest = TypeVar("Nearest", LanceVectorQueryBuilder, LanceHybridQueryBuilder)

INDEXED_FROM = 50_000
STEPS = ((30, 2), (60, 4), (100, 5), (200, 10), (400, 10), (800, 10))
SCHEMA = pa.schema(
    [pa.field("id", pa.int64()), pa.field("text", pa.utf8()), pa.field("vector", pa.list_(pa.float32(), 384))]
)


class Peer:
    packages = ("lancedb",)
    steps = tuple({"ef": ef, "refine_factor": refined} for ef, refined in STEPS)
    settings: Mapping[str, int] = {}

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        table = lancedb.connect(folder).create_table("memories", schema=SCHEMA)
        for batch in batches:
            count = len(batch.texts)
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(batch.vectors.ravel()), 384)
            columns = [pa.array(range(batch.first, batch.first + count)), pa.array(batch.texts), vectors]
            table.add(pa.Table.from_arrays(columns, schema=SCHEMA))
        table.optimize()
        table.create_index("text", config=FTS())
        if table.count_rows() >= INDEXED_FROM:
            table.create_index("vector", config=HnswSq(distance_type="cosine", num_partitions=1))
        table.optimize(cleanup_older_than=timedelta(0))  # each batch has left a version behind

    def open(self, folder: Path) -> None:
        self._table = lancedb.connect(folder).open_table("memories")
        self._reranker = RRFReranker()

    def vector(self, vector: Vector, k: int) -> list[int]:
        return _numbers(self._raised(self._table.search(vector).distance_type("cosine")), k)

    def keyword(self, text: str, k: int) -> list[int]:
        return _numbers(self._table.search(text, query_type="fts"), k)

    def hybrid(self, text: str, vector: Vector, k: int) -> list[int]:
        asked = self._table.search(query_type="hybrid").vector(vector).text(text).distance_type("cosine")
        return _numbers(self._raised(asked).rerank(self._reranker), k)

    def _raised(self, asked: Nearest) -> Nearest:
        return asked.ef(self.settings["ef"]).refine_factor(self.settings["refine_factor"]) if self.settings else asked


def _numbers(asked: LanceQueryBuilder, k: int) -> list[int]:
    return asked.select(["id", "text"]).limit(k).to_arrow()["id"].to_pylist()
