"""Cuts the power of a store at thousands of moments: is everything that was acknowledged still there?

`python -m tests.reliability.power_cuts --seeds 10000 --processes 2`. No disk is harmed: what SQLite writes is recorded,
and the disk that a cut would leave is made from the record. With `--synchronous off --expect-failure` the same run
shows that it finds what there is to find.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import shutil
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from tests.reliability.disk_after_cut import disk_after_cut
from tests.reliability.expectations import History
from tests.reliability.recorded_workload import Recording, recorded
from tests.reliability.recording_vfs import Mark
from tests.reliability.stores import temporary_folder
from tests.reliability.verdict import Damage, damage_of

from mcp_memory_service.storage.sqlite_vec.file import connection

Synchronous: TypeAlias = Literal["off", "normal", "full"]
_LEVELS: dict[Synchronous, int] = {"off": 0, "normal": 1, "full": 2}

# A recorded workload costs about as much as judging three cuts in it.
CUTS_PER_WORKLOAD = 10
SEEDS_PER_JOB = 20 * CUTS_PER_WORKLOAD
KEEP = (0.0, 1.0, 0.5, 0.1, 0.9)
FAILURES_TOLD = 10


@dataclass
class Figures:
    synchronous: Synchronous
    seeds: int = 0
    acknowledged: int = 0
    """Operations that had to be there after the cut, over all cuts."""
    cuts_in_operations: int = 0
    cuts_in_migration: int = 0
    cuts_in_creation: int = 0
    damage: Damage = field(default_factory=Damage)
    failed_seeds: list[int] = field(default_factory=list[int])
    """The first of them: `--first-seed N --seeds 1` repeats one."""

    @property
    def clean(self) -> bool:
        return self.damage.clean

    def plus(self, other: "Figures") -> "Figures":
        return Figures(
            self.synchronous,
            self.seeds + other.seeds,
            self.acknowledged + other.acknowledged,
            self.cuts_in_operations + other.cuts_in_operations,
            self.cuts_in_migration + other.cuts_in_migration,
            self.cuts_in_creation + other.cuts_in_creation,
            self.damage.plus(other.damage),
            (self.failed_seeds + other.failed_seeds)[:FAILURES_TOLD],
        )


def _cut_position(recording: Recording, chance: random.Random) -> int:
    """Anywhere; but often right after an acknowledgement, where a promise is youngest, or before the first."""
    marks = [position for position, entry in enumerate(recording.entries) if isinstance(entry, Mark)]
    dice = chance.random()
    if dice < 0.3:
        return chance.choice(marks) + 1
    if dice < 0.5:
        return chance.randint(0, marks[0])
    return chance.randint(0, len(recording.entries))


async def _judge(recording: Recording, seed: int, folder: Path, figures: Figures) -> None:
    chance = random.Random(f"cut {seed}")
    cut = _cut_position(recording, chance)
    disk = disk_after_cut(recording.entries[:cut], recording.durable, chance.choice(KEEP), chance)
    folder.mkdir()
    for name, content in disk.items():
        (folder / name).write_bytes(content)
    history = recording.history(cut)
    damage = await damage_of(folder / "memories.db", history or History(recording.before))
    shutil.rmtree(folder)
    figures.seeds += 1
    figures.damage = figures.damage.plus(damage)
    if not damage.clean and len(figures.failed_seeds) < FAILURES_TOLD:
        figures.failed_seeds.append(seed)
    if history is not None:
        figures.acknowledged += len(history.operations) - len(history.unknown)
        figures.cuts_in_operations += len(history.unknown)
    elif recording.before:
        figures.cuts_in_migration += 1
    else:
        figures.cuts_in_creation += 1


async def _run(seeds: range, figures: Figures) -> None:
    with temporary_folder() as folder:
        for number in sorted({seed // CUTS_PER_WORKLOAD for seed in seeds}):
            place = folder / str(number)
            place.mkdir()
            recording = await recorded(number, place)
            first = number * CUTS_PER_WORKLOAD
            for seed in range(max(first, seeds.start), min(first + CUTS_PER_WORKLOAD, seeds.stop)):
                await _judge(recording, seed, folder / f"cut-{seed}", figures)
            shutil.rmtree(place)


@contextmanager
def _in_force(synchronous: Synchronous) -> Generator[None, None, None]:
    before = connection.PRAGMAS
    connection.PRAGMAS = tuple(
        (name, synchronous, _LEVELS[synchronous]) if name == "synchronous" else (name, value, expected)
        for name, value, expected in before
    )
    try:
        yield
    finally:
        connection.PRAGMAS = before


def run(seeds: int, first_seed: int = 0, synchronous: Synchronous = "full") -> Figures:
    """Each seed is one cut; seeds that differ in the last digit only share a workload."""
    figures = Figures(synchronous)
    with _in_force(synchronous):
        asyncio.run(_run(range(first_seed, first_seed + seeds), figures))
    return figures


def run_in_processes(processes: int, seeds: int, first_seed: int, synchronous: Synchronous) -> Figures:
    stop = first_seed + seeds
    starts = range(first_seed, stop, SEEDS_PER_JOB)
    sizes = [min(SEEDS_PER_JOB, stop - start) for start in starts]
    total = Figures(synchronous)
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for part in pool.map(partial(run, synchronous=synchronous), sizes, starts):
            total = total.plus(part)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--synchronous", choices=sorted(_LEVELS), default="full")
    parser.add_argument("--expect-failure", action="store_true", help="fail unless something was lost or corrupted")
    options = parser.parse_args()
    figures = run_in_processes(options.processes, options.seeds, options.first_seed, options.synchronous)
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean != options.expect_failure else 1)


if __name__ == "__main__":
    main()
