"""Random operations on a store, with everything that they do to the disk written down."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw
from tests.reliability.expectations import History, Operation, State
from tests.reliability.first_version import write_first_version
from tests.reliability.passing_vfs import default_while_open
from tests.reliability.random_operations import RandomOperations
from tests.reliability.recording_vfs import Entry, Mark, RecordingVFS
from tests.reliability.stores import on_writer, open_store

from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file import connection

MIGRATION_SHARE = 0.25


@dataclass(frozen=True)
class Recording:
    """What a workload did to the disk."""

    entries: Sequence[Entry]
    durable: dict[str, bytes]
    before: State
    operations: Sequence[Operation]

    def history(self, cut: int) -> History | None:
        """What must hold after a cut there; None if the store was not open yet."""
        mark = next((entry for entry in reversed(self.entries[:cut]) if isinstance(entry, Mark)), None)
        if mark is None:
            return None
        history = History(self.before, list(self.operations[: mark.acknowledged]))
        if mark.begun > mark.acknowledged:
            history.doubt(self.operations[mark.acknowledged])
        return history


class Workload:
    """Puts a mark into the record before and after each operation."""

    def __init__(self, path: Path, vfs: RecordingVFS, before: State, chance: random.Random) -> None:
        self._path = path
        self._vfs = vfs
        self._chance = chance
        self._making = RandomOperations(chance)
        self._long_reader: apsw.Connection | None = None
        self.history = History(before)

    async def run(self) -> None:
        store = await open_store(self._path)
        self._mark(begun=0)
        if self._chance.random() < 0.3:
            await on_writer(store, "PRAGMA wal_autocheckpoint = 5")
        for _ in range(self._chance.randint(10, 20)):
            await self._operate(store)
            event = self._chance.random()
            if event < 0.12:
                await self._checkpoint(store)
            elif event < 0.18:
                await store.close()
                store = await open_store(self._path)
            elif event < 0.25:
                self._start_or_end_long_read()
        await store.close()
        self._end_long_read()

    async def _operate(self, store: SqliteVecStorage) -> None:
        operation = self._making.next(self.history)
        self._mark(begun=1)
        await operation.perform(store)
        self.history.acknowledge(operation)
        self._mark(begun=0)

    async def _checkpoint(self, store: SqliteVecStorage) -> None:
        # One that empties the WAL would wait for the long reader.
        mode = "PASSIVE" if self._long_reader else self._chance.choice(["PASSIVE", "TRUNCATE"])
        await on_writer(store, f"PRAGMA wal_checkpoint({mode})")

    def _start_or_end_long_read(self) -> None:
        """While another process reads, a checkpoint comes no further than what that one sees."""
        if self._long_reader:
            self._end_long_read()
            return
        self._long_reader = connection.connect(self._path, read_only=True)
        self._long_reader.execute("BEGIN")
        self._long_reader.execute("SELECT count(*) FROM memories").fetchall()

    def _end_long_read(self) -> None:
        if self._long_reader:
            self._long_reader.close()
            self._long_reader = None

    def _mark(self, begun: int) -> None:
        acknowledged = len(self.history.operations)
        self._vfs.record.append(Mark(acknowledged + begun, acknowledged))


async def recorded(number: int, folder: Path) -> Recording:
    """The workload of this number, always the same; a part of them begin with a file that must be migrated."""
    chance = random.Random(f"workload {number}")
    path = folder / "memories.db"
    durable: dict[Path, bytes] = {}
    before: State = {}
    if chance.random() < MIGRATION_SHARE:
        durable, before = write_first_version(path, with_wal=chance.random() < 0.3)
    with default_while_open(RecordingVFS(durable)) as vfs:
        workload = Workload(path, vfs, before, chance)
        await workload.run()
    return Recording(vfs.record, vfs.durable, before, workload.history.operations)
