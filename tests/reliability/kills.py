"""Writer processes are killed with SIGKILL under load, again and again: is all they were told still there?

`python -m tests.reliability.kills --kills 200 --migration-kills 20`.
"""

import argparse
import asyncio
import json
import random
import signal
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.support.patience import HANG_SECONDS

from .journal import done_so_far, read_journal
from .journal_check import Verdict, judge
from .migration_kills import MigrationFigures, run_migration_kills
from .worker import start, work_on, write_until_told_to_stop
from .workload import Mix

WRITERS = 3
KILLS_BETWEEN_CHECKS = 20
MAX_LIFE_SECONDS = 0.15  # after the first acknowledgement
GLANCE_SECONDS = 0.002


@dataclass
class Figures:
    kills: int = 0
    checks: int = 0
    killed_in_mid_operation: int = 0
    survivors_blocked: int = 0
    """Survivors that got nothing done after a kill, however long they were given."""
    slowest_survivor_ms: float = 0.0
    """The longest that a survivor took from a kill to its next acknowledged write."""
    bad_endings: int = 0
    """Writers that ended by themselves, or did not end when asked."""
    errors: dict[str, int] = field(default_factory=dict[str, int])
    verdict: Verdict = field(default_factory=Verdict)
    """Of the last check; of the first that was not clean, if there was one."""
    migrations: MigrationFigures = field(default_factory=MigrationFigures)

    @property
    def clean(self) -> bool:
        failed = self.survivors_blocked or self.bad_endings or self.errors
        return self.verdict.clean and self.migrations.clean and not failed


def write(path: Path, journal: Path, number: int, seed: int) -> None:
    mix = Mix(number, random.Random(seed * 100_000 + number))
    work_on(path, journal, lambda store, journal: write_until_told_to_stop(store, journal, mix))


@dataclass
class Writer:
    process: BaseProcess
    journal: Path

    def await_more_than(self, done: int) -> bool:
        """Until it has that many yeses and one more; False if that takes for ever."""
        until = time.monotonic() + HANG_SECONDS
        while done_so_far(self.journal) <= done:
            if time.monotonic() > until or not self.process.is_alive():
                return False
            time.sleep(GLANCE_SECONDS)
        return True

    def end(self, by: signal.Signals) -> bool:
        """False if it was not alive any more or ends otherwise than it should."""
        alive = self.process.is_alive()
        if by is signal.SIGKILL:
            self.process.kill()
        else:
            self.process.terminate()
        self.process.join(HANG_SECONDS)
        expected = -by if by is signal.SIGKILL else 0
        return alive and self.process.exitcode == expected


class Siege:
    """A file with writers on it, of which now and then one is killed and replaced."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._path = folder / "memories.db"
        self._seed = seed
        self._chance = random.Random(seed)
        self._writers: list[Writer] = []
        self._journals: list[Path] = []
        self.figures = Figures()

    def go_on_for(self, kills: int) -> None:
        while len(self._writers) < WRITERS:
            self._add_writer()
        for _ in range(kills):
            self._kill_one()
            self._add_writer()

    def _add_writer(self) -> None:
        number = len(self._journals)
        journal = self._folder / f"writer{number}.journal"
        process = start(write, self._path, journal, number, self._seed)
        self._writers.append(Writer(process, journal))
        self._journals.append(journal)

    def _kill_one(self) -> None:
        victim = self._writers.pop(self._chance.randrange(len(self._writers)))
        self.figures.survivors_blocked += not victim.await_more_than(0)
        time.sleep(self._chance.uniform(0.0, MAX_LIFE_SECONDS))
        self._end(victim, signal.SIGKILL)
        done_at_kill = [done_so_far(writer.journal) for writer in self._writers]
        killed_at = time.monotonic()
        for writer, done in zip(self._writers, done_at_kill, strict=True):
            self.figures.survivors_blocked += not writer.await_more_than(done)
        waited = (time.monotonic() - killed_at) * 1_000
        self.figures.slowest_survivor_ms = round(max(self.figures.slowest_survivor_ms, waited), 1)

    def _end(self, writer: Writer, by: signal.Signals) -> None:
        self.figures.bad_endings += not writer.end(by)
        self.figures.kills += by is signal.SIGKILL
        writer.process.close()

    def check(self) -> None:
        """Stop all and look. Every other time all are killed, so that whoever opens the file next must recover it."""
        by = signal.SIGKILL if self.figures.checks % 2 else signal.SIGTERM
        for writer in self._writers:  # who is not up yet does not listen yet
            self.figures.survivors_blocked += not writer.await_more_than(0)
        while self._writers:
            self._end(self._writers.pop(), by)
        accounts = [read_journal(journal) for journal in self._journals]
        verdict = asyncio.run(judge(self._path, accounts))
        self.figures.checks += 1
        self.figures.errors = dict(sum((account.errors for account in accounts), Counter[str]()))
        self.figures.killed_in_mid_operation = verdict.in_doubt
        if self.figures.verdict.clean:
            self.figures.verdict = verdict


def run(folder: Path, kills: int, migration_kills: int, seed: int) -> Figures:
    siege = Siege(folder, seed)
    for first in range(0, kills, KILLS_BETWEEN_CHECKS):
        siege.go_on_for(min(KILLS_BETWEEN_CHECKS, kills - first))
        siege.check()
    siege.figures.migrations = run_migration_kills(folder, migration_kills, seed)
    return siege.figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--migration-kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-kills-") as folder:
        figures = run(Path(folder), options.kills, options.migration_kills, options.seed)
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
