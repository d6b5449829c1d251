"""Fails each single call that a store makes to the disk, one after another: does the caller hear of it in words of
ours, does the store go on, and is everything that was acknowledged still there?

`python -m tests.reliability.io_faults`; `--every 7` takes a sample.
"""

import argparse
import asyncio
import json
import random
import shutil
from collections import Counter
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.contract.memories import EVERYTHING, vector
from tests.reliability.expectations import History, Operation
from tests.reliability.failing_vfs import WRITING, Calls, FailingVFS, Fault
from tests.reliability.passing_vfs import default_while_open
from tests.reliability.random_operations import COMMON_WORD, DIMENSION, RandomOperations, one_more
from tests.reliability.stores import on_writer, open_store, temporary_folder
from tests.reliability.verdict import Damage, damage_of

from mcp_memory_service.errors import MemoryServiceError
from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, schema
from mcp_memory_service.storage.sqlite_vec.file import connection
from mcp_memory_service.storage.sqlite_vec.file.connections import READER_THREADS

T = TypeVar("T")

OPERATIONS_PER_HANDLE = 8
# A lock that a fault left behind would be waited for; nobody else uses the file.
WAIT_MILLISECONDS = 50
FILES = ("memories.db", "memories.db-wal", "memories.db-journal")


@dataclass
class Figures:
    calls: int = 0
    """Of the workload when nothing fails."""
    runs: int = 0
    faults: Counter[str] = field(default_factory=Counter[str])
    """How many of each kind of call were made to fail."""
    acknowledged: int = 0
    refused: int = 0
    """Operations that ended in an error of ours."""
    untranslated: int = 0
    """Operations that ended in any other error."""
    stuck: int = 0
    """Operations that were refused later than the one in which the call failed, on the same handle."""
    damage: Damage = field(default_factory=Damage)
    findings: Counter[str] = field(default_factory=Counter[str])

    @property
    def clean(self) -> bool:
        return self.damage.clean and not self.untranslated and not self.stuck


class Run:
    """The workload once, with one call that fails."""

    def __init__(self, path: Path, calls: Calls, figures: Figures) -> None:
        self._path = path
        self._calls = calls
        self._figures = figures
        self.history = History()

    async def work(self) -> None:
        operations = _operations()
        for half in (operations[:OPERATIONS_PER_HANDLE], operations[OPERATIONS_PER_HANDLE:]):
            store = await self._opened()
            if store is None:
                return
            for operation in half:
                await self._operate(store, operation)
            await self._read(store)
            await self._attempt("checkpoint", on_writer(store, "PRAGMA wal_checkpoint(TRUNCATE)"))
            await self._operate(store, one_more(f"of{len(self.history.operations)}"))
            for _ in range(READER_THREADS):  # each reader has its turn
                await self._attempt("list", store.list_memories(EVERYTHING, 0, 100))
            await self._attempt("close", store.close())

    async def _opened(self) -> SqliteVecStorage | None:
        """A start that the fault stops is tried again, as a supervisor would."""
        _, store = await self._attempt("open", open_store(self._path))
        return store or (await self._attempt("open", open_store(self._path)))[1]

    async def _read(self, store: SqliteVecStorage) -> None:
        await self._attempt("search_by_text", store.search_by_text(query_terms(COMMON_WORD), 10, EVERYTHING))
        await self._attempt("retrieve", store.retrieve(vector(*([1.0] * DIMENSION)), 10, EVERYTHING))
        await self._attempt("get_all_tags", store.get_all_tags("default"))
        await self._attempt("check_search", store.check_search())
        await self._attempt("check_write", store.check_write())

    async def _operate(self, store: SqliteVecStorage, operation: Operation) -> None:
        done, _ = await self._attempt(type(operation).__name__.lower(), operation.perform(store))
        if done:
            self.history.acknowledge(operation)
            self._figures.acknowledged += 1
        else:
            self.history.doubt(operation)

    async def _attempt(self, name: str, work: Awaitable[T]) -> tuple[bool, T | None]:
        failed_before = self._calls.failed is not None
        # Gathered, because any error at all is a finding here and none of them a reason to stop.
        (outcome,) = await asyncio.gather(work, return_exceptions=True)
        if not isinstance(outcome, BaseException):
            return True, outcome
        story = f"{name}: {self._calls.fault} in {self._calls.failed}: {type(outcome).__name__}: {outcome}"
        if isinstance(outcome, MemoryServiceError):
            self._figures.refused += 1
        else:
            self._figures.untranslated += 1
            self._figures.findings[f"untranslated {story}"] += 1
        if failed_before:
            self._figures.stuck += 1
            self._figures.findings[f"stuck {story}"] += 1
        return False, None


def _operations() -> list[Operation]:
    """The same for every run."""
    history = History()
    making = RandomOperations(random.Random("faults"))
    for _ in range(2 * OPERATIONS_PER_HANDLE):
        history.acknowledge(making.next(history))
    return history.operations


async def _one_run(calls: Calls, folder: Path, figures: Figures) -> None:
    live, image = folder / "live", folder / "image"
    for each in (live, image):
        each.mkdir()
    with default_while_open(FailingVFS(calls)):
        run = Run(live / FILES[0], calls, figures)
        await run.work()
    for name in FILES:  # a copy, as connections that a fault left open must not help
        if (live / name).exists():
            shutil.copy(live / name, image / name)
    damage = await damage_of(image / FILES[0], run.history)
    if not damage.clean:
        figures.findings[f"damage {calls.fault} in {calls.failed}: {damage}"] += 1
    figures.damage = figures.damage.plus(damage)
    figures.runs += 1
    for each in (live, image):
        shutil.rmtree(each)


@contextmanager
def _short_waits() -> Generator[None, None, None]:
    before = connection.BUSY_TIMEOUT_MILLISECONDS
    connection.BUSY_TIMEOUT_MILLISECONDS = schema.BUSY_TIMEOUT_MILLISECONDS = WAIT_MILLISECONDS
    try:
        yield
    finally:
        connection.BUSY_TIMEOUT_MILLISECONDS = schema.BUSY_TIMEOUT_MILLISECONDS = before


async def _run(every: int, folder: Path) -> Figures:
    figures = Figures()
    undisturbed = Calls()
    await _one_run(undisturbed, folder, figures)
    figures.calls = len(undisturbed.made)
    for number in range(0, figures.calls, every):
        faults: list[Fault] = ["EIO", "ENOSPC"] if undisturbed.made[number].method in WRITING else ["EIO"]
        for fault in faults:
            calls = Calls(number, fault)
            await _one_run(calls, folder, figures)
            figures.faults[f"{fault} {calls.failed.method if calls.failed else 'never came'}"] += 1
    return figures


def run(every: int = 1) -> Figures:
    """Fails every n-th call, each in a run of its own."""
    with temporary_folder() as folder, _short_waits():
        return asyncio.run(_run(every, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    figures = run(parser.parse_args().every)
    print(json.dumps(figures, indent=2, default=vars))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
