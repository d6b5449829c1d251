"""How fast code is taken in, and how fast its graph is walked in a large store.

    python bench/code_index.py --code FOLDER
    python bench/code_index.py --symbols 100000 --edges 400000 [--qdrant URL]

FOLDER holds real projects; it is copied, so that its files can be edited. CPU is that of this process and of those that
read for it, without embedding, which comes after. The graph is made up as in bench/code_graph.py, and walked through
the store alone; what an answer of the service takes on top is measured there.
"""

import argparse
import asyncio
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from code_graph import calls_between, fill, symbols_of
from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import code_of
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

STEPS = 3
MAX_REACHED = 5_000
ADDED = "\n\ndef added_by_the_benchmark_{}():\n    return {}\n"


def cpu_seconds() -> tuple[float, float]:
    """Of this process, and of those that it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), children.ru_utime + children.ru_stime


class Phases:
    """What a run does, and how long it takes for each."""

    def __init__(self) -> None:
        self._doing = ""
        self._begun = (0.0, 0.0, 0.0)

    def __call__(self, doing: str, _done: int, _total: int) -> None:
        if doing == self._doing:
            return
        now = (time.perf_counter(), *cpu_seconds())
        if self._doing:
            wall, own, others = (one - other for one, other in zip(now, self._begun, strict=True))
            print(f"  {self._doing:<26} {wall:8.2f} s, CPU {own + others:8.2f} s")
        self._doing, self._begun = doing, now


async def run(what: str, service: MemoryService, folder: Path) -> None:
    print(what)
    phases = Phases()
    phases("Looking for changes", 0, 0)
    begun, before = time.perf_counter(), sum(cpu_seconds())
    report = await service.code_index.index(folder, progress=phases)
    phases("", 0, 0)
    wall, used = time.perf_counter() - begun, sum(cpu_seconds()) - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"  {'together':<26} {wall:8.2f} s, CPU {used:8.2f} s, peak {peak} MiB")
    if report.chunks_created + report.chunks_updated > 1_000:
        print(f"  {report.documents:,} files, {report.chunks_created:,} symbols; {report.code}")


def edit_two(folder: Path, number: int) -> None:
    files = sorted(folder.rglob("*.py"), key=lambda file: (-file.stat().st_size, file))
    for file in (files[len(files) // 4], files[len(files) // 3]):
        file.write_text(file.read_text() + ADDED.format(number, number))


async def measure_runs(code: Path, folder: Path) -> None:
    project, settings = folder / "project", load_settings({"sqlite_path": folder / "own" / "code.db"})
    shutil.copytree(code, project)
    async with open_service(settings) as service:
        await run("first run (symbols are found by words when it ends)", service, project)
        await run("run without changes", service, project)
        edit_two(project, 1)
        await run("two files edited", service, project)
        edit_two(project, 2)
        await run("two files edited again", service, project)
    async with open_service(settings) as service:
        edit_two(project, 3)
        await run("two files edited, by another process", service, project)
    print(f"store: {settings.sqlite_path.stat().st_size / 2**20:.0f} MiB")


async def walk(store: Store, start: Sequence[str], steps: int) -> int:
    """Who calls these, level by level; how many there are."""
    seen, level = set(start), list(start)
    for _ in range(steps):
        found = await store.edges_to(code_of("default"), level, ["calls"])
        level = list({edge.from_id for edges in found.values() for edge in edges} - seen)
        seen.update(level)
        if not level or len(seen) >= MAX_REACHED:
            break
    return len(seen) - len(start)


async def timed(what: str, asked: Sequence[str], ask: Callable[[str], Awaitable[int]]) -> None:
    await ask(asked[0])
    seconds: list[float] = []
    cpu: list[float] = []
    reached: list[int] = []
    for each in asked:
        begun, before = time.perf_counter(), time.process_time()
        reached.append(await ask(each))
        seconds.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - before)
    wall, used = ([percentile(values, share) * 1e3 for share in (0.5, 0.95)] for values in (seconds, cpu))
    ends = [percentile(reached, share) for share in (0.5, 0.95)]
    print(
        f"{what:<24} p50 {wall[0]:7.2f} ms, p95 {wall[1]:7.2f} ms; CPU {used[0]:6.2f}, {used[1]:6.2f}; reached {ends}"
    )


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


async def measure_walks(store: Store, symbol_count: int, edge_count: int, questions: int) -> None:
    draw = random.Random(27)
    symbols = symbols_of(symbol_count)
    edges = calls_between(symbols, edge_count, draw)
    begun, before = time.perf_counter(), time.process_time()
    await fill(store, symbols, edges)
    used = time.process_time() - before
    print(f"{symbol_count:,} symbols, {edge_count:,} calls: {time.perf_counter() - begun:.0f} s, CPU {used:.0f} s")
    asked = [symbol.content_hash for symbol in draw.sample(symbols, questions)]
    del symbols, edges
    before_walks = resident_mb()
    await timed("callers", asked, lambda each: walk(store, [each], 1))
    await timed(f"callers, {STEPS} steps", asked, lambda each: walk(store, [each], STEPS))
    print(f"resident: {before_walks} MiB before the walks, {resident_mb()} MiB after")


def resident_mb() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize() // 2**20


async def measure(options: argparse.Namespace, folder: Path) -> None:
    if options.code:
        await measure_runs(options.code.resolve(), folder)
        return
    if options.qdrant:
        where = QdrantOptions(options.qdrant, f"bench-code-{random.randrange(10**9)}")
        store: Store = await QdrantStorage.open(where, "none-4", 4, indexed_text)
    else:
        store = await SqliteVecStorage.open(folder / "code.db", "none-4", 4, indexed_text)
    await measure_walks(store, options.symbols, options.edges, options.questions)
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--code", type=Path, help="a folder of real projects")
    parser.add_argument("--symbols", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=400_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--qdrant", help="address of a server, or of its stand-in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-bench-code-") as folder:
        asyncio.run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
