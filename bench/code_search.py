"""Searches of code with and without its graph, over many symbols: latency, calls of the store and memory.

    python bench/code_search.py --symbols 100000 --edges 400000

Names are those of the standard library of the Python that runs it, in modules of forty symbols; the vectors are drawn,
near each other where names share words, for an embedder of a hundred thousand texts says nothing about searching.
"""

import argparse
import ast
import asyncio
import os
import re
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import (
    Edge,
    EmbeddedMemory,
    GraphExpansion,
    GraphStrategy,
    Memory,
    MemoryDraft,
    MemoryKind,
    SearchRequest,
    SourceRecord,
    Vector,
    code_of,
    identity_hash,
)
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.sqlite_vec import IndexOptions, LiveIndex, SqliteVecStorage
from measuring import Latency, latency, memory_mb

DIMENSION = 384
IN_A_MODULE = 40
MEMORIES = 2_000
PROJECT = "0123456789ab"
PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
WAYS: dict[str, tuple[tuple[MemoryKind, ...], GraphStrategy | None, int]] = {
    "plain memories": ((), None, 0),
    "code": (("code",), None, 0),
    "code, callers:1": (("code",), "callers", 1),
    "code, callers:2": (("code",), "callers", 2),
    "code, dependencies:2": (("code",), "dependencies", 2),
    "code, related:2": (("code",), "related", 2),
    "memories and code": (("memory", "code"), None, 0),
    "memories and code, callers:2": (("memory", "code"), "callers", 2),
}


class WordVectors:
    """The mean of a drawn vector for each word."""

    model_id = "drawn-words-384"
    dimension = DIMENSION
    max_tokens = None

    def __init__(self) -> None:
        self._known: dict[str, Vector] = {}

    def vector(self, text: str) -> Vector:
        words = [word.lower() for word in PART.findall(text)][:60] or [""]
        mean = np.mean([self._word(word) for word in words], axis=0)
        return (mean / np.linalg.norm(mean)).astype(np.float32)

    def _word(self, word: str) -> Vector:
        if word not in self._known:
            seed = int.from_bytes(word.encode()[:8].ljust(8, b"\0"), "big")
            self._known[word] = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
        return self._known[word]

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self.vector(text) for text in texts]

    async def embed_query(self, query: str) -> Vector:
        return self.vector(query)

    async def warm_up(self) -> None:
        pass

    async def close(self) -> None:
        pass


def real_definitions() -> Iterator[tuple[str, str]]:
    """Names of functions and classes, and the first lines of their text."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            text = path.read_text()
            tree = ast.parse(text)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        lines = text.split("\n")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, "\n".join(lines[node.lineno - 1 : node.lineno + 11])


def made_symbols(count: int, folder: Path) -> Iterator[Memory]:
    """As many as asked for: definitions come again in other modules. Their files are there, and as old as they were
    when they were read, so that freshness costs what it mostly costs."""
    written_at = 1_700_000_000_000_000
    definitions = list(real_definitions())
    for number in range(count):
        name, text = definitions[number * 7919 % len(definitions)]
        module, place = divmod(number, IN_A_MODULE)
        qualified, file = f"app.part{module}.{name}_{place}", folder / f"app/part{module}.py"
        if place == 0:
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n")
            os.utime(file, ns=(written_at * 1_000, written_at * 1_000))
        source = file.as_posix()
        yield Memory(
            text,
            identity_hash("code", source, qualified, text),
            number,
            written_at,
            memory_type="function",
            metadata={
                "path": f"app/part{module}.py",
                "root": folder.as_posix(),
                "project": PROJECT,
                "symbol": qualified,
                "symbol_kind": "function",
                "lines": [place * 12 + 1, place * 12 + 12],
                "span": "",
            },
            namespace=code_of("default"),
            source=source,
            sequence=place,
            kind="code",
            anchor=qualified,
            names=(f"symbol:{PROJECT}:{qualified}", f"symbol:{name}_{place}"),
        )


async def fill(storage: SqliteVecStorage, symbols: Sequence[Memory], edges: int, vectors: WordVectors) -> None:
    """Half of the edges lead to symbols near by, a quarter to any, a quarter to a hundredth that all use."""
    chance = np.random.default_rng(7)
    size, each = len(symbols), edges // len(symbols)
    for start in range(0, size, IN_A_MODULE):
        members = symbols[start : start + IN_A_MODULE]
        made: list[Edge] = []
        for place, member in enumerate(members, start=start):
            near = (place + chance.integers(1, 200, size=each)) % size
            far, often = chance.integers(0, size, size=each), chance.integers(0, size // 100, size=each)
            drawn = chance.random(each)
            ends: list[int] = np.where(drawn < 0.5, near, np.where(drawn < 0.75, far, often)).tolist()
            made += [
                Edge(member.content_hash, symbols[end].names[0], "calls", 1.0, by_name=True, certainty="certain")
                for end in ends
            ]
        items = [EmbeddedMemory(member, (vectors.vector(member.content),)) for member in members]
        source = members[0].source or ""
        await storage.replace_source(members[0].namespace, source, items, made, SourceRecord(source, "read"))


def queries(symbols: Sequence[Memory], count: int) -> list[str]:
    """Two thirds ask by words of a definition, a third by its name."""
    chance = np.random.default_rng(11)
    asked: list[str] = []
    places: list[int] = chance.integers(0, len(symbols), size=count).tolist()
    for number, place in enumerate(places):
        symbol = symbols[place]
        if number % 3 == 2:
            asked.append((symbol.anchor or "").rpartition(".")[2])
        else:
            words: list[str] = PART.findall(symbol.content)
            drawn: list[int] = chance.integers(0, len(words), size=5).tolist()
            asked.append(" ".join([words[each] for each in drawn]))
    return asked


async def measured(service: MemoryService, way: str, asked: Sequence[str]) -> tuple[Latency, float]:
    """And the mean number of results."""
    kinds, strategy, depth = WAYS[way]
    expansion = GraphExpansion(strategy, depth) if strategy else None
    seconds: list[float] = []
    found = 0
    for query in asked[:20]:
        await service.search(SearchRequest(f"{query} warm", kinds=kinds, graph_expansion=expansion))
    started, cpu = time.perf_counter(), time.process_time()
    for query in asked:
        before = time.perf_counter()
        result = await service.search(SearchRequest(query, kinds=kinds, graph_expansion=expansion))
        seconds.append(time.perf_counter() - before)
        assert not result.degraded, result.degraded
        found += sum("graph" in hit.provenance for hit in result.results)
    wall, spent = time.perf_counter() - started, time.process_time() - cpu
    return latency(seconds, wall, spent), found / len(asked)


async def main(arguments: Any) -> None:
    vectors = WordVectors()
    with tempfile.TemporaryDirectory() as folder:
        symbols = list(made_symbols(arguments.symbols, Path(folder)))
        index = partial(LiveIndex, options=IndexOptions())
        storage = await SqliteVecStorage.open(
            Path(folder) / "code.db", vectors.model_id, DIMENSION, indexed_text, index=index
        )
        service = MemoryService(storage, vectors)
        asked = queries(symbols, arguments.queries)
        notes = [MemoryDraft(f"{query} was decided, number {number}") for number, query in enumerate(asked * 20)]
        for start in range(0, min(MEMORIES, len(notes)), 500):
            await service.store_batch(notes[start : start + 500])
        await storage.wait_ready()
        before = await measured(service, "plain memories", asked)
        started = time.perf_counter()
        await fill(storage, symbols, arguments.edges, vectors)
        took = time.perf_counter() - started
        sys.stdout.write(f"{arguments.symbols:,} symbols, {arguments.edges:,} edges in {took:.0f} s\n")
        await storage.wait_ready()
        sys.stdout.write("| search | p50 ms | p95 ms | CPU ms | by the graph |\n|---|---|---|---|---|\n")
        _say("plain memories, before there was code", *before)
        for way in WAYS:
            _say(way, *await measured(service, way, asked))
        sys.stdout.write(f"{memory_mb()}\n")
        await storage.close()


def _say(way: str, took: Latency, found: float) -> None:
    sys.stdout.write(f"| {way} | {took.p50_ms:.1f} | {took.p95_ms:.1f} | {took.cpu_ms:.1f} | {found:.1f} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--symbols", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=400_000)
    parser.add_argument("--queries", type=int, default=300)
    asyncio.run(main(parser.parse_args()))
