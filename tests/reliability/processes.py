"""Many processes write and read one SQLite file at once: does any of them fail, wait too long or lose something?

`python -m tests.reliability.processes --operations 1000`.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import TypeAlias

import numpy as np
from tests.contract.memories import EVERYTHING
from tests.support.fakes import WordEmbedder
from tests.support.one_memory import get_one
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import MemoryFilter, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .journal import Account, Journal, read_journal
from .journal_check import Verdict, judge
from .worker import CONTEXT, start, work_on, write_one
from .workload import WORDS, Mix, shared_content

WRITERS, READERS = 8, 4
TOLD_SHARE = 0.2
NOT_VISIBLE = "not visible"

Told: TypeAlias = tuple[str, str] | None
"""The content and a tag of a memory that a writer has just been told is stored; None when all is said."""
Ears: TypeAlias = "SimpleQueue[Told]"


@dataclass
class Waits:
    """Of one kind of call, in milliseconds."""

    calls: int
    p50: float
    p99: float
    worst: float


@dataclass
class Figures:
    writers: int
    operations: int
    readers: int
    seconds: float
    writes: Waits
    reads: Waits
    finished_after_seconds: list[float]
    """When each writer was done, counted from the common start."""
    seen_at_once: int
    """Writes that a reader in another process was told of and found with its next query."""
    not_visible: int
    unfinished: int
    """Processes that did not come to their end."""
    errors: dict[str, int]
    verdict: Verdict

    @property
    def clean(self) -> bool:
        return self.verdict.clean and not (self.errors or self.not_visible or self.unfinished)


def write(
    path: Path, journal: Path, number: int, operations: int, seed: int, begin: Barrier, readers: list[Ears]
) -> None:
    chance = random.Random(seed * 1_000 + number)
    mix = Mix(number, chance)

    async def work(store: SqliteVecStorage, journal: Journal) -> None:
        begin.wait(HANG_SECONDS)
        began = time.monotonic()
        for _ in range(operations):
            operation = await write_one(store, journal, mix)
            if operation and operation.kind == "tag" and readers and chance.random() < TOLD_SHARE:
                chance.choice(readers).put((operation.contents[0], operation.tags[0]))
        journal.finished(time.monotonic() - began)

    work_on(path, journal, work)


def read(path: Path, journal: Path, number: int, seed: int, begin: Barrier, ears: Ears) -> None:
    """Search until the writers are done; what a writer tells of must be found by the next query."""
    chance = random.Random(seed * 1_000 - 1 - number)

    async def work(store: SqliteVecStorage, journal: Journal) -> None:
        begin.wait(HANG_SECONDS)
        began = time.monotonic()
        while True:
            if ears.empty():
                await _timed_search(store, journal, chance)
                continue
            told = ears.get()
            if told is None:
                break
            if await _is_visible(store, chance, *told):
                journal.seen()
            else:
                journal.error(NOT_VISIBLE, told[0])
        journal.finished(time.monotonic() - began)

    work_on(path, journal, work)


async def _timed_search(store: SqliteVecStorage, journal: Journal, chance: random.Random) -> None:
    word, other = chance.sample(WORDS, 2)
    some_hash = content_hash(shared_content(0, chance.randrange(20)))
    began = time.perf_counter()
    match chance.randrange(5):
        case 0:
            await store.retrieve(WordEmbedder.vector(f"{word} {other}"), 10, EVERYTHING)
        case 1:
            await store.search_by_text(query_terms(f"{word} {other}"), 10, EVERYTHING)
        case 2:
            await store.search_by_tag({"updated": 2.0, f"writer{chance.randrange(WRITERS)}": 1.0}, 10, EVERYTHING)
        case 3:
            await store.list_memories(MemoryFilter(tags=("new",)), chance.randrange(100), 20)
        case _:
            await get_one(store, "default", some_hash)
    journal.done(time.perf_counter() - began)


async def _is_visible(store: SqliteVecStorage, chance: random.Random, content: str, tag: str) -> bool:
    """Shared memories and their tags are never taken away, so that only blindness can hide them."""
    match chance.randrange(3):
        case 0:
            memory = await get_one(store, "default", content_hash(content))
            return memory is not None and tag in memory.tags
        case 1:
            return bool(await store.search_by_tag({tag: 1.0}, 1, EVERYTHING))
        case _:
            return (await store.list_memories(MemoryFilter(tags=(tag,)), 0, 1)).total == 1


def run(folder: Path, writers: int, operations: int, readers: int, seed: int) -> Figures:
    path = folder / "memories.db"
    began = time.monotonic()
    writer_journals, reader_journals = _run_processes(folder, path, writers, operations, readers, seed)
    seconds = time.monotonic() - began
    written = [read_journal(journal) for journal in writer_journals]
    seen = [read_journal(journal) for journal in reader_journals]
    errors = sum((account.errors for account in (*written, *seen)), Counter[str]())
    return Figures(
        writers=writers,
        operations=operations,
        readers=readers,
        seconds=round(seconds, 1),
        writes=_waits(written),
        reads=_waits(seen),
        finished_after_seconds=[round(account.finished, 2) for account in written if account.finished is not None],
        seen_at_once=sum(account.seen for account in seen),
        not_visible=sum(times for error, times in errors.items() if error.startswith(NOT_VISIBLE)),
        unfinished=sum(account.finished is None for account in (*written, *seen)),
        errors=dict(errors),
        verdict=asyncio.run(judge(path, written)),
    )


def _run_processes(
    folder: Path, path: Path, writers: int, operations: int, readers: int, seed: int
) -> tuple[list[Path], list[Path]]:
    """The journals of the writers and of the readers, when all have ended."""
    written = [folder / f"writer{number}.journal" for number in range(writers)]
    seen = [folder / f"reader{number}.journal" for number in range(readers)]
    begin = CONTEXT.Barrier(writers + readers)
    ears: list[Ears] = [CONTEXT.SimpleQueue() for _ in seen]
    writing = [
        start(write, path, journal, number, operations, seed, begin, ears) for number, journal in enumerate(written)
    ]
    reading = [start(read, path, journal, number, seed, begin, ears[number]) for number, journal in enumerate(seen)]
    for process in writing:
        process.join()
    for queue in ears:
        queue.put(None)
    for process in (*writing, *reading):
        process.join()
        process.close()
    for queue in ears:
        queue.close()
    return written, seen


def _waits(accounts: list[Account]) -> Waits:
    milliseconds = np.array([seconds * 1_000 for account in accounts for seconds in account.seconds] or [0.0])
    p50, p99, worst = (round(float(np.percentile(milliseconds, share)), 2) for share in (50, 99, 100))
    return Waits(calls=sum(len(account.seconds) for account in accounts), p50=p50, p99=p99, worst=worst)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=WRITERS)
    parser.add_argument("--operations", type=int, default=1_000, help="of each writer")
    parser.add_argument("--readers", type=int, default=READERS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-processes-") as folder:
        figures = run(Path(folder), options.writers, options.operations, options.readers, options.seed)
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
