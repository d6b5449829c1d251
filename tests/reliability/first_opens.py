"""Many processes open a store that does not exist yet at the same moment, and each stores a memory in it.

`python -m tests.reliability.first_opens --rounds 20`.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from multiprocessing.synchronize import Barrier
from pathlib import Path

from tests.support.patience import HANG_SECONDS

from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .journal import Journal, read_journal
from .journal_check import Verdict, judge
from .worker import CONTEXT, start, work_on
from .workload import Operation, carry_out

PROCESSES = 16


@dataclass
class Figures:
    rounds: int
    processes: int
    memories_found: int = 0
    memories_expected: int = 0
    unfinished: int = 0
    slowest_open_and_store_ms: float = 0.0
    failures: dict[str, int] = field(default_factory=dict[str, int])
    unclean_rounds: list[Verdict] = field(default_factory=list[Verdict])

    @property
    def clean(self) -> bool:
        complete = self.memories_found == self.memories_expected
        return complete and not (self.failures or self.unfinished or self.unclean_rounds)


def open_and_store(path: Path, journal: Path, number: int, begin: Barrier) -> None:
    operation = Operation("store", (f"first words of process{number}",), ("first", f"process{number}"))
    begin.wait(HANG_SECONDS)
    began = time.monotonic()

    async def work(store: SqliteVecStorage, journal: Journal) -> None:
        journal.intent(operation)
        await carry_out(store, operation)
        journal.done(time.monotonic() - began)
        journal.finished(time.monotonic() - began)

    work_on(path, journal, work)


def run(folder: Path, rounds: int, processes: int) -> Figures:
    figures = Figures(rounds, processes, memories_expected=rounds * processes)
    failures = Counter[str]()
    for number in range(rounds):
        round_folder = folder / f"round{number}"
        round_folder.mkdir()
        failures += _one_round(round_folder, figures)
    figures.failures = dict(failures)
    return figures


def _one_round(folder: Path, figures: Figures) -> Counter[str]:
    path = folder / "memories.db"
    journals = [folder / f"process{number}.journal" for number in range(figures.processes)]
    begin = CONTEXT.Barrier(figures.processes)
    running = [start(open_and_store, path, journal, number, begin) for number, journal in enumerate(journals)]
    for process in running:
        process.join()
        process.close()
    accounts = [read_journal(journal) for journal in journals]
    verdict = asyncio.run(judge(path, accounts))
    figures.memories_found += verdict.memories
    figures.unfinished += sum(account.finished is None for account in accounts)
    slowest = max((account.finished or 0.0 for account in accounts), default=0.0)
    figures.slowest_open_and_store_ms = max(figures.slowest_open_and_store_ms, round(slowest * 1_000, 1))
    if not verdict.clean:
        figures.unclean_rounds.append(verdict)
    return sum((account.errors for account in accounts), Counter[str]())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-first-opens-") as folder:
        figures = run(Path(folder), options.rounds, options.processes)
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
