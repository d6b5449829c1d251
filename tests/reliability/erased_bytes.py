"""After a purge, is anything of the memories left in any byte of the files? And if it had to wait, is it gone then?

`python -m tests.reliability.erased_bytes --seeds 20`.
"""

import argparse
import asyncio
import json
import os
import signal
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import apsw

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep
from mcp_memory_service.storage.sqlite_vec.queries import writes
from mcp_memory_service.storage.sqlite_vec.upkeep import erasure

from .canaries import DIMENSION, MODEL, Churn
from .oracle import problems_of, unseen
from .stores import on_writer
from .traces import files_of, traces_in
from .worker import start


@dataclass
class Figures:
    seeds: int = 0
    canaries_planted: int = 0
    traces_after_delete: int = 0
    """Stores that keep something when memories are deleted and not purged: it proves that the search finds things."""
    traces_in_pages_after_delete: int = 0
    """The same after the log was emptied: what is left then lies in pages that no delete knows of."""
    traces_after_purge: list[str] = field(default_factory=list[str])
    pending: int = 0
    """Purges while somebody else reads."""
    pending_told: int = 0
    """Of them, those that said that they are not finished."""
    pending_erased: int = 0
    """Of them, those that left nothing behind when the reader was gone and one more thing was written."""
    killed: int = 0
    """Processes that died after the delete and before the rewrite."""
    killed_erased: int = 0
    wrong: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        finished = self.pending == self.pending_told == self.pending_erased and self.killed == self.killed_erased
        return finished and not (self.traces_after_purge or self.wrong)


async def opened(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, MODEL, DIMENSION, indexed_text)


class Purging:
    """One seed: four stores with the same past, and one way to get rid of it for each."""

    def __init__(self, folder: Path, seed: int, figures: Figures) -> None:
        self._folder = folder
        self._seed = seed
        self._figures = figures

    async def delete_only(self) -> None:
        path, churn, store = await self._filled("deleted")
        for content_hash in churn.secret:
            assert await store.delete("default", content_hash)
        self._figures.traces_after_delete += any(traces_in(files_of(path), churn.wanted))
        await on_writer(store, "PRAGMA wal_checkpoint(TRUNCATE)")
        self._figures.traces_in_pages_after_delete += any(traces_in(files_of(path), churn.wanted))
        await store.close()

    async def purge(self) -> None:
        """Every other time in two purges: the second finds files that the first has put in order."""
        path, churn, store = await self._filled("purged")
        secrets = churn.all_secrets
        first = len(secrets) // 2 if self._seed % 2 else 0
        for secret in filter(None, (secrets[:first], secrets[first:])):
            purged = await store.purge("default", secret)
            self._expect(purged.erased, "a purge that nobody disturbs is not finished")
            self._expect(purged.not_found == (), "a purge does not find what it deletes")
        self._figures.canaries_planted += churn.planted
        self._figures.traces_after_purge += self._traces(path, churn)
        backup = path.with_suffix(".backup")
        await asyncio.to_thread(StoreUpkeep(path, indexed_text, unseen).back_up, backup)
        self._figures.traces_after_purge += traces_in([backup], churn.wanted)
        await store.close()
        self._figures.traces_after_purge += self._traces(path, churn)

    async def purge_beside_a_reader(self) -> None:
        """What finishes it is by turns a write of this handle, one of another, and a purge of nothing."""
        path, churn, store = await self._filled("read")
        other = await opened(path)
        with reader(path):
            purged = await store.purge("default", churn.all_secrets)
            self._figures.pending += 1
            self._figures.pending_told += not purged.erased
        finished_by = self._seed // 2 % 3
        if finished_by == 0:
            self._expect((await other.purge("default", [])).erased, "a purge of nothing does not finish the one before")
        else:
            await churn.store_one(store if finished_by == 1 else other)
        self._figures.pending_erased += not self._traces(path, churn)
        await other.close()
        await store.close()

    async def die_in_between(self) -> None:
        path, churn, store = await self._filled("killed")
        await store.close()
        process = start(delete_and_die, path, churn.all_secrets)
        await asyncio.to_thread(process.join)
        self._figures.killed += process.exitcode == -signal.SIGKILL
        process.close()
        self._expect(any(traces_in(files_of(path), churn.wanted)), "the process did not die before the rewrite")
        store = await opened(path)
        self._expect((await store.get_many("default", churn.secret)) == [], "what a dead process deleted is there")
        self._expect((await store.purge("default", [])).erased, "a purge does not finish that of a dead process")
        self._figures.killed_erased += not self._traces(path, churn)
        await store.close()

    async def _filled(self, name: str) -> tuple[Path, Churn, SqliteVecStorage]:
        path = self._folder / f"{name}{self._seed}.db"
        store = await opened(path)
        churn = Churn(self._seed)
        await churn.fill(store)
        return path, churn, store

    def _traces(self, path: Path, churn: Churn) -> list[str]:
        """Of a purged store, which must be sound besides."""
        found = list(traces_in(files_of(path), churn.wanted))
        self._figures.wrong += problems_of(path)
        return found

    def _expect(self, true: bool, otherwise: str) -> None:
        if not true:
            self._figures.wrong.append(f"seed {self._seed}: {otherwise}")


@contextmanager
def reader(path: Path) -> Generator[None, None, None]:
    """Somebody who reads the store as it is now, and goes on reading it."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM memories").fetchall()
        yield
        connection.execute("ROLLBACK")


def delete_and_die(path: Path, secret: list[str]) -> None:
    """As a purge begins, with a death where the rewrite would be."""

    async def purge_half() -> None:
        store = await opened(path)

        def delete_all(connection: apsw.Connection) -> None:
            erasure.note_due(connection)
            for content_hash in secret:
                writes.purge_memory(connection, "default", content_hash)

        await store.connections.write(delete_all)
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(purge_half())


async def _run(folder: Path, seeds: Iterable[int]) -> Figures:
    figures = Figures()
    began = time.monotonic()
    for seed in seeds:
        purging = Purging(folder, seed, figures)
        await purging.delete_only()
        await purging.purge()
        if seed % 2:  # the purge waits two seconds for the reader
            await purging.purge_beside_a_reader()
        await purging.die_in_between()
        figures.seeds += 1
    figures.seconds = round(time.monotonic() - began, 1)
    return figures


def run(folder: Path, seeds: Iterable[int]) -> Figures:
    return asyncio.run(_run(folder, seeds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-erased-") as folder:
        figures = run(Path(folder), range(options.seeds))
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
