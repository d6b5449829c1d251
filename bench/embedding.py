"""Measures the local embedder against the bare runtime, queries embedded together against one by one, and storing
against embedding alone.

    python bench/embedding.py --texts 2000 --data FOLDER

FOLDER has a corpus.jsonl.gz with `text` in each line; without one, the memories of tests/eval are cut into sentences.
All ways take turns within one run and on the same texts, so that all see the same machine: read the ratios. The bare
runtime gets batches that are cut and padded beforehand, so that only the model is measured.
"""

import argparse
import asyncio
import gzip
import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.embeddings.minilm import MiniLM
from mcp_memory_service.embeddings.onnx_model import BATCH_TOKENS, OnnxModel, batches_by_length
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import MemoryDraft
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

MEMORIES = Path(__file__).parents[1] / "tests" / "eval" / "memories.jsonl"
MIN_CHARS = 15
BUDGETS = (256, 512, 1024, 2048)
QUERY_TOKENS = range(6, 21)
STORED_BATCH = 100

Inputs = dict[str, NDArray[np.int64]]


def sentences(data: Path | None, wanted: int) -> list[str]:
    """Sentences, each once."""
    found: dict[str, None] = {}
    for text in _texts(data):
        for sentence in re.split(r"(?<=[.!?])\s+", text):
            if len(sentence) >= MIN_CHARS:
                found[sentence] = None
        if len(found) >= wanted:
            break
    return list(found)[:wanted]


def _texts(data: Path | None) -> Iterator[str]:
    if data is None:
        with MEMORIES.open(encoding="utf-8") as lines:
            yield from (json.loads(line)["content"] for line in lines)
    else:
        with gzip.open(data / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def padded_batches(model: OnnxModel, texts: Sequence[str], budget: int) -> list[Inputs]:
    token_ids = model.token_ids(texts)
    batches: list[Inputs] = []
    for batch in batches_by_length([len(ids) for ids in token_ids], budget):
        ids = np.zeros((len(batch), max(len(token_ids[position]) for position in batch)), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, position in enumerate(batch):
            ids[row, : len(token_ids[position])] = token_ids[position]
            mask[row, : len(token_ids[position])] = 1
        batches.append({"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
    return batches


def taking_turns(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median of the seconds that each way took."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            taken[name].append(time.perf_counter() - started)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def throughput(runner: asyncio.Runner, embedder: LocalEmbedder, texts: Sequence[str], rounds: int) -> None:
    ways: dict[str, Callable[[], object]] = {"LocalEmbedder.embed": lambda: runner.run(embedder.embed(texts))}
    for threads in (2, 1):
        model = MiniLM().load(threads)
        for budget in BUDGETS if threads == 2 else (BATCH_TOKENS,):
            batches = padded_batches(model, texts, budget)

            def bare(session: Any = model.session, batches: list[Inputs] = batches) -> None:
                for inputs in batches:
                    session.run(["last_hidden_state"], inputs)

            ways[f"bare runtime, {threads} threads, {budget} tokens"] = bare
    seconds = taking_turns(ways, rounds)
    same = seconds[f"bare runtime, 2 threads, {BATCH_TOKENS} tokens"]
    print(f"\n{len(texts)} sentences, median of {rounds} rounds\n")
    print("| way | sentences/s | of the bare runtime |\n|---|---|---|")
    for name, taken in seconds.items():
        print(f"| {name} | {len(texts) / taken:.0f} | {same / taken:.2f} |")


def together(runner: asyncio.Runner, embedder: LocalEmbedder, texts: Sequence[str], rounds: int) -> None:
    async def one_by_one(queries: Sequence[str]) -> None:
        for query in queries:
            await embedder.embed([query])

    async def at_once(queries: Sequence[str]) -> None:
        await asyncio.gather(*(embedder.embed([query]) for query in queries))

    print("\n| queries at once | one by one ms | together ms | gain |\n|---|---|---|---|")
    for count in (1, 2, 4, 8, 16, 32):
        queries = texts[:count]
        seconds = taking_turns(
            {
                "one by one": lambda queries=queries: runner.run(one_by_one(queries)),
                "together": lambda queries=queries: runner.run(at_once(queries)),
            },
            rounds * 5,
        )
        alone, shared = seconds["one by one"], seconds["together"]
        print(f"| {count} | {alone * 1000:.1f} | {shared * 1000:.1f} | {alone / shared:.2f} |")


async def storing(embedder: LocalEmbedder, texts: Sequence[str]) -> None:
    """What a store takes beside the model, and what it takes when the texts are known."""
    drafts = [MemoryDraft(text) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        storage = await SqliteVecStorage.open(path, embedder.model_id, embedder.dimension, indexed_text)
        service = MemoryService(storage, embedder)
        taken = {"embedded alone": 0.0, "stored": 0.0, "stored again": 0.0}
        for start in range(0, len(texts), STORED_BATCH):
            part = slice(start, start + STORED_BATCH)
            for name in taken:
                begun = time.perf_counter()
                await (embedder.embed(texts[part]) if name == "embedded alone" else service.store_batch(drafts[part]))
                taken[name] += time.perf_counter() - begun
        await storage.close()
    print(f"\nBatches of {STORED_BATCH}\n\n| way | seconds | of embedding alone |\n|---|---|---|")
    for name, seconds in taken.items():
        print(f"| {name} | {seconds:.2f} | {seconds / taken['embedded alone']:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=500, help="How many sentences to embed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="A folder with corpus.jsonl.gz")
    arguments = parser.parse_args()
    texts = sentences(arguments.data, arguments.texts)
    lengths = [len(ids) for ids in MiniLM().load(1).token_ids(texts)]
    queries = [text for text, length in zip(texts, lengths, strict=True) if length in QUERY_TOKENS]
    embedder = LocalEmbedder(threads=2)
    with asyncio.Runner() as runner:
        runner.run(embedder.warm_up())
        together(runner, embedder, queries, arguments.rounds)
        throughput(runner, embedder, texts, arguments.rounds)
        runner.run(storing(embedder, texts))
        runner.run(embedder.close())


if __name__ == "__main__":
    main()
