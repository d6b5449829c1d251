"""How fast the code graph answers: made-up symbols and calls in a SQLite store.

    python bench/code_graph.py [--symbols 100000] [--edges 400000] [--questions 200] [--store FILE]

To make the graph takes minutes; with --store it is kept, and taken as it is if it is there.

Who is called is drawn as in real projects: a few are called by very many (a share of 1 / rank). Files are not there, so
that no date is compared; an answer of twenty symbols asks the file system for twenty.
"""

import argparse
import asyncio
import random
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import (
    Certainty,
    Edge,
    EmbeddedMemory,
    Memory,
    SourceRecord,
    code_of,
    identity_hash,
)
from mcp_memory_service.services.code.code_graph import CodeGraph
from mcp_memory_service.services.code.questions import Asked, CallsRequest, ChainRequest, ImpactRequest, LinkedRequest
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.timestamps import now_microseconds

T = TypeVar("T")

PROJECT, ROOT, IN_FILE = "0123456789ab", "/made/up", 20
CERTAINTIES: Sequence[tuple[Certainty, float]] = (("certain", 1.0), ("likely", 0.8), ("guess", 0.3))


def symbols_of(count: int) -> list[Memory]:
    return [_symbol(number) for number in range(count)]


def _symbol(number: int) -> Memory:
    file = number // IN_FILE
    name = f"pkg{file // 100}.mod{file}.Class{number // 5}.method_{number % 977}_{number}"
    source, last = f"{ROOT}/pkg{file // 100}/mod{file}.py", name.rpartition(".")[2]
    content = f"def {last}(self, value):\n    return self.helper(value) + {number}"
    metadata = {
        "path": source.removeprefix(f"{ROOT}/"), "root": ROOT, "project": PROJECT, "language": "python",
        "symbol": name, "symbol_kind": "method", "signature": f"def {last}(self, value)",
        "lines": [number % IN_FILE * 10 + 1, number % IN_FILE * 10 + 8], "span": f"{number:064x}", "since": 1_000,
    }  # fmt: skip
    return Memory(
        content, identity_hash("code", source, name, content), 1_000, 1_000, memory_type="method", metadata=metadata,
        namespace=code_of("default"), source=source, sequence=number % IN_FILE, kind="code", anchor=name,
        names=(f"symbol:{PROJECT}:{name}", f"symbol:{last}"),
    )  # fmt: skip


def calls_between(symbols: Sequence[Memory], count: int, draw: random.Random) -> dict[str, list[Edge]]:
    shares = list(accumulate(1.0 / (rank + 10) for rank in range(len(symbols))))
    called = list(symbols)
    draw.shuffle(called)
    found: dict[str, list[Edge]] = defaultdict(list)
    for caller in draw.choices(symbols, k=count):
        (callee,) = draw.choices(called, cum_weights=shares)
        certainty, weight = draw.choice(CERTAINTIES)
        lines = (draw.randrange(1, 200),)
        to = f"symbol:{PROJECT}:{callee.anchor}"
        found[caller.content_hash].append(
            Edge(caller.content_hash, to, "calls", weight, by_name=True, lines=lines, certainty=certainty)
        )
    return found


async def fill(store: Store, symbols: Sequence[Memory], edges: dict[str, list[Edge]]) -> None:
    files: dict[str, list[Memory]] = defaultdict(list)
    for symbol in symbols:
        files[symbol.source or ""].append(symbol)
    for source, own in files.items():
        items = [EmbeddedMemory(symbol, ()) for symbol in own]
        own_edges = [edge for symbol in own for edge in edges.get(symbol.content_hash, ())]
        await store.replace_source(code_of("default"), source, items, own_edges, SourceRecord(source, "made"))


async def timed(what: str, questions: Sequence[str], ask: Callable[[str], Awaitable[int]]) -> None:
    await ask(questions[0])
    seconds: list[float] = []
    cpu: list[float] = []
    sizes: list[int] = []
    for question in questions:
        begun, before = time.perf_counter(), time.process_time()
        sizes.append(await ask(question))
        seconds.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - before)
    seconds.sort()
    cpu.sort()
    sizes.sort()
    wall = f"{_at(seconds, 0.5) * 1e3:>8.2f} {_at(seconds, 0.95) * 1e3:>8.2f}"
    used = f"{_at(cpu, 0.5) * 1e3:>8.2f} {_at(cpu, 0.95) * 1e3:>8.2f}"
    print(f"{what:<28} {wall} {used} {_at(sizes, 0.5):>8} {_at(sizes, 0.95):>8}", flush=True)


def _at(values: Sequence[T], share: float) -> T:
    return values[int(len(values) * share)]


async def measure(symbol_count: int, edge_count: int, question_count: int, file: Path) -> None:
    draw = random.Random(27)
    symbols = symbols_of(symbol_count)
    edges = calls_between(symbols, edge_count, draw)
    store = await SqliteVecStorage.open(file, "none-4", 4, indexed_text)
    if not await store.count_all_memories(code_of("default")):
        begun = time.perf_counter()
        await fill(store, symbols, edges)
        print(f"{symbol_count:,} symbols, {edge_count:,} calls stored in {time.perf_counter() - begun:.0f} s")
    graph = CodeGraph(store, "default", now_microseconds)
    asked = [symbol.anchor or "" for symbol in draw.sample(symbols, question_count)]
    print(f"{'':<28} {'ms p50':>8} {'p95':>8} {'CPU p50':>8} {'p95':>8} {'found p50':>8} {'p95':>8}")

    for direction in ("callers", "callees"):
        for depth in (1, 3):

            async def walk(name: str, depth: int = depth, direction: str = direction) -> int:
                request = CallsRequest(Asked(name), direction, depth)  # pyright: ignore[reportArgumentType]
                return (await graph.calls(request)).total

            await timed(f"get_{direction}, depth {depth}", asked, walk)
    other = dict(zip(asked, reversed(asked), strict=True))

    async def chain(name: str) -> int:
        return len((await graph.chain(ChainRequest(Asked(name), Asked(other[name])))).chains)

    async def linked(name: str) -> int:
        return (await graph.linked(LinkedRequest(Asked(name)))).total

    async def impact(name: str) -> int:
        return sum(group.total for group in (await graph.impact(ImpactRequest(Asked(name)))).callers)

    await timed("call_chain", asked, chain)
    await timed("memory_linked_search", asked, linked)
    await timed("impact", asked, impact)
    begun = time.perf_counter()
    await graph.stats()
    print(f"call_graph_stats {time.perf_counter() - begun:.2f} s")
    await store.close()
    print(f"RSS {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB at most, with the made-up graph")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--symbols", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=400_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--store", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = arguments.store or Path(folder) / "code.db"
        asyncio.run(measure(arguments.symbols, arguments.edges, arguments.questions, file))
