"""Compares OpenVINO with onnxruntime on our model: its vectors, speed, memory and rankings (ADR 14).

    pip install 'openvino==2026.4.1'
    python bench/runtimes.py --texts 2200 --data FOLDER --data OTHER
    python bench/runtimes.py --rankings --cache FOLDER --data SET

Speed: each runtime has a process of its own and they take turns; read the ratios. Times are CPU time, but for the
latency of a query. Rankings: documents and queries of an evaluation set embedded by one runtime or by both.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedding import QUERY_TOKENS, sentences
from mcp_memory_service.embeddings import minilm, onnx_model
from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.embeddings.minilm import MiniLM
from mcp_memory_service.evaluation.dataset import Dataset, load_dataset
from mcp_memory_service.evaluation.embedding_cache import CachedEmbedder
from mcp_memory_service.evaluation.report import report_of
from mcp_memory_service.evaluation.runner import Collections, ask_dataset, rows_of
from mcp_memory_service.hybrid_search import RankingPolicy, indexed_text
from mcp_memory_service.malloc import return_unused_memory
from mcp_memory_service.models import Vector
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from measuring import rss_mb

THREADS = 2
# In OpenVINO's own terms. Floats of 32 bits in all of them: by default it takes bfloat16 where the processor has it.
RUNTIMES: dict[str, dict[str, object]] = {
    "onnxruntime": {},
    "OpenVINO, int8 activations": {"DYNAMIC_QUANTIZATION_GROUP_SIZE": 32},
    "OpenVINO, float activations": {"DYNAMIC_QUANTIZATION_GROUP_SIZE": 0},
}
BASE, FAST, _ = RUNTIMES
FIGURES = ("import ms", "load ms", "RSS MB", "query p50 ms", "query CPU ms", "sentence CPU ms")


class SessionOptions:
    intra_op_num_threads: int = 1

    def add_session_config_entry(self, name: str, value: str) -> None:
        """Of onnxruntime alone."""


class OpenVino:
    """As much of onnxruntime's interface as MiniLM uses."""

    SessionOptions = SessionOptions

    def __init__(self, options: dict[str, object]) -> None:
        # Importing openvino reports to Google Analytics if this package is there, which it depends on.
        sys.modules["openvino_telemetry"] = None  # pyright: ignore[reportArgumentType]
        self._openvino: Any = import_module("openvino")
        self._options = options

    def InferenceSession(self, model: bytes, options: SessionOptions, providers: Sequence[str]) -> Any:  # noqa: N802, ARG002
        core = self._openvino.Core()
        threads = {"INFERENCE_NUM_THREADS": options.intra_op_num_threads, "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}
        all_options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", **threads, **self._options}
        return Session(core.compile_model(core.read_model(model), "CPU", all_options).create_infer_request())


class Session:
    def __init__(self, request: Any) -> None:
        self._request = request

    def run(self, names: Sequence[str], inputs: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        answer = self._request.infer(inputs, share_inputs=True, share_outputs=True)
        return [answer[name] for name in names]


@contextmanager
def loading_with(name: str) -> Generator[None, None, None]:
    """Models loaded within run on this runtime."""
    usual = onnx_model.runtime_without_telemetry
    if name != BASE:
        onnx_model.runtime_without_telemetry = lambda: OpenVino(RUNTIMES[name])
    try:
        yield
    finally:
        onnx_model.runtime_without_telemetry = usual


def measured(name: str, texts: Sequence[str], vectors: Path) -> None:
    with loading_with(name):
        started = time.process_time()
        onnx_model.runtime_without_telemetry()
        imported = time.process_time()
        model = MiniLM().load(THREADS)
        loaded = time.process_time()
    queries = [text for text, ids in zip(texts, model.token_ids(texts), strict=True) if len(ids) in QUERY_TOKENS][:100]
    model.embedded(queries[:5])
    taken: list[float] = []
    before_queries = time.process_time()
    for query in queries:
        begun = time.perf_counter()
        model.embedded([query])
        taken.append(time.perf_counter() - begun)
    before_texts = time.process_time()
    np.save(vectors, np.array(model.embedded(texts)))
    ended = time.process_time()
    return_unused_memory()
    milliseconds = [imported - started, loaded - imported, statistics.median(taken)]
    milliseconds += [(before_texts - before_queries) / len(queries), (ended - before_texts) / len(texts)]
    figures = [1000 * seconds for seconds in milliseconds]
    print(json.dumps([*figures[:2], rss_mb(), *figures[2:]]))


def compare(texts: Sequence[str], rounds: int) -> None:
    figures: dict[str, list[list[float]]] = {name: [] for name in RUNTIMES}
    vectors: dict[str, NDArray[np.float32]] = {}
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "texts.json", Path(folder) / "vectors.npy"
        asked.write_text(json.dumps(texts))
        for name in [name for _ in range(rounds) for name in RUNTIMES]:
            command = [sys.executable, __file__, "--measure", name, str(asked), str(answered)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            figures[name].append(json.loads(done.stdout))
            vectors[name] = np.load(answered)
    print(f"{len(texts)} sentences, medians of {rounds} rounds\n")
    print("| runtime |", " | ".join(FIGURES), "| cosine: least | mean |\n|---|" + "---|" * (len(FIGURES) + 2))
    for name, rows in figures.items():
        medians = [f"{statistics.median(column):.2f}" for column in zip(*rows, strict=True)]
        cosines = (vectors[name].astype(float) * vectors[BASE]).sum(axis=1)
        print(f"| {name} |", " | ".join(medians), f"| {cosines.min():.5f} | {cosines.mean():.5f} |")
    for number, figure in enumerate(FIGURES):
        ratios = {
            name: [f"{row[number] / base[number]:.2f}" for row, base in zip(rows, figures[BASE], strict=True)]
            for name, rows in figures.items()
            if name != BASE
        }
        print(f"{figure}, of onnxruntime in each round:", ratios)


class TwoRuntimes:
    """Queries by one runtime, all other texts by another."""

    model_id, dimension, max_tokens = minilm.MODEL_ID, minilm.DIMENSION, minilm.MAX_TOKENS

    def __init__(self, documents: CachedEmbedder, queries: CachedEmbedder) -> None:
        self._documents, self._queries = documents, queries

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._documents.embed(texts)

    async def embed_query(self, query: str) -> Vector:
        return await self._queries.embed_query(query)

    async def warm_up(self) -> None: ...

    async def close(self) -> None: ...


def quiet(_what: str, _done: int, _total: int) -> None:
    """No progress line between the rows of a table."""


async def rankings(dataset: Dataset, cache: Path) -> None:
    embedders: dict[str, CachedEmbedder] = {}
    for name in (BASE, FAST):
        embedders[name] = CachedEmbedder(LocalEmbedder(THREADS), cache / f"{name}.db")
        with loading_with(name):
            await embedders[name].warm_up()
    print(f"\n{dataset.name}, {len(dataset.queries)} queries, NDCG@10\n\n| documents | queries | vector | hybrid |")
    print("|---|---|---|---|")
    for documents, queries in ((BASE, BASE), (FAST, FAST), (BASE, FAST), (FAST, BASE)):
        with tempfile.TemporaryDirectory() as folder:
            embedder = TwoRuntimes(embedders[documents], embedders[queries])
            storage = await SqliteVecStorage.open(
                Path(folder) / "eval.db", embedder.model_id, embedder.dimension, indexed_text
            )
            collections = Collections(storage, embedder, RankingPolicy())
            await collections.load(dataset, quiet)
            asked = rows_of(collections)
            answers = await ask_dataset(dataset, asked, quiet)
            await storage.close()
        rows = report_of(dataset, asked, answers).rows
        vector, hybrid = (rows[row].means.ndcg_at_10 for row in ("vector", "hybrid"))
        print(f"| {documents} | {queries} | {vector:.4f} | {hybrid:.4f} |", flush=True)
    for embedder in embedders.values():
        await embedder.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", default=[], help="A folder with corpus.jsonl.gz")
    parser.add_argument("--texts", type=int, default=2200, help="How many sentences to embed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rankings", action="store_true", help="Measure rankings instead of speed")
    parser.add_argument("--queries", type=int, default=2000, help="With --rankings: how many of each set")
    parser.add_argument("--cache", type=Path, default=Path("runtimes-cache"), help="With --rankings: keeps vectors")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        name, asked, answered = arguments.measure
        measured(name, json.loads(Path(asked).read_text()), Path(answered))
    elif arguments.rankings:
        for folder in arguments.data:
            asyncio.run(rankings(load_dataset(folder).with_queries(arguments.queries), arguments.cache))
    else:
        of_each = arguments.texts // max(1, len(arguments.data))
        compare([text for folder in arguments.data or [None] for text in sentences(folder, of_each)], arguments.rounds)


if __name__ == "__main__":
    main()
