"""The disk runs full, for real, at many moments: is every refusal a StorageFull, and is anything lost or broken?

`python -m tests.reliability.full_disk --rounds 10`.
"""

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import Awaitable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.contract.memories import EVERYTHING, memory
from tests.support.fakes import WordEmbedder
from tests.support.one_memory import store_one

from mcp_memory_service.errors import MemoryServiceError, StorageFull
from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import EmbeddedMemory, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .full_disk_copies import CopyFigures, copy_onto_full_disk
from .full_disk_erasure import ErasureFigures, erase_on_full_disk
from .full_disk_server import serve_on_full_disk
from .oracle import problems_of
from .small_disk import NoSmallDisk, SmallDisk, small_disk
from .stores import on_writer
from .worker import open_file
from .workload import WORDS

MEGABYTES = 6
REFUSALS_A_ROUND = 12
RESERVE_BYTES = 2_000_000  # so that there is space again at the end, when the store itself has filled the disk
MAX_STORES = 5_000


@dataclass
class Figures:
    rounds: int = 0
    acknowledged: int = 0
    refused: int = 0
    """Calls that the full disk did not let pass, and that said so."""
    other_errors: list[str] = field(default_factory=list[str])
    lost: int = 0
    """Memories that were acknowledged and are not there."""
    half_done: int = 0
    """Memories that were refused and are there, or are still there after an acknowledged delete."""
    unreadable: int = 0
    """Searches on the full disk that did not find what is there."""
    problems: list[str] = field(default_factory=list[str])
    copies: CopyFigures = field(default_factory=CopyFigures)
    erasure: ErasureFigures = field(default_factory=ErasureFigures)
    server: list[str] = field(default_factory=list[str])
    """Answers of a server with a full disk that are not as they should be."""
    skipped: str | None = None

    @property
    def clean(self) -> bool:
        wrong = self.other_errors or self.lost or self.half_done or self.unreadable or self.problems or self.server
        return self.copies.clean and self.erasure.clean and not wrong


class Round:
    """One store that is filled until the disk is full, again and again with more space each time."""

    def __init__(self, disk: SmallDisk, number: int, seed: int, figures: Figures) -> None:
        self._disk = disk
        self._path = disk.folder / f"round{number}" / "memories.db"
        self._number = number
        self._chance = random.Random(seed * 1_000 + number)
        self._figures = figures
        self._there: list[str] = []
        self._gone: list[str] = []
        self._count = 0

    async def play(self) -> None:
        store = await open_file(self._path)
        if self._number % 2:  # the log is then copied into the file all the time, and not once in a thousand pages
            await on_writer(store, "PRAGMA wal_autocheckpoint = 20")
        reserve = self._disk.folder / "reserve"
        reserve.write_bytes(bytes(RESERVE_BYTES))
        for _ in range(REFUSALS_A_ROUND):
            self._disk.fill(leaving=self._chance.choice((0, 1, 2, 8, 30, 80, 200, 400)) * 4096)
            await self._store_until_full(store)
            await self._look_around(store)
            await self._expect_full(store.check_write())
            await self._delete_some(store)
            self._disk.empty()
            if self._disk.free < 1_500_000:
                break
            await self._go_on(store)
        reserve.unlink()
        store = await self._reopened_on_full_disk(store)
        await self._go_on(store)
        await self._look_around(store)
        await store.close()
        self._figures.problems += problems_of(self._path)
        self._figures.rounds += 1

    async def _store_until_full(self, store: SqliteVecStorage) -> None:
        for _ in range(MAX_STORES):
            if not await self._stored(store):
                return
        self._figures.other_errors.append("the disk did not run full")

    async def _stored(self, store: SqliteVecStorage) -> bool:
        self._count += 1
        words = self._chance.choices(WORDS, k=self._chance.choice((5, 50, 500)))
        content = f"note {self._count} {' '.join(words)}"
        item = EmbeddedMemory(memory(content, "note", f"t{self._count}"), (WordEmbedder.vector(content),))
        if not await self._passes(store_one(store, item)):
            self._gone.append(content)
            return False
        self._there.append(content)
        self._figures.acknowledged += 1
        return True

    async def _delete_some(self, store: SqliteVecStorage) -> None:
        for content in self._chance.sample(self._there, min(3, len(self._there))):
            if await self._passes(store.delete("default", content_hash(content))):
                self._there.remove(content)
                self._gone.append(content)

    async def _go_on(self, store: SqliteVecStorage) -> None:
        """With space again, the handle works as if nothing had been."""
        try:
            await store.check_write()
        except StorageFull:
            self._figures.other_errors.append("check_write says that the disk is full, and it is not")
        if not await self._stored(store):
            self._figures.other_errors.append("nothing can be stored with space on the disk")

    async def _reopened_on_full_disk(self, store: SqliteVecStorage) -> SqliteVecStorage:
        """Closed with a log that cannot be put into the file, and opened when there is space again."""
        self._disk.fill()
        await store.close()
        try:
            opened = await open_file(self._path)
        except StorageFull:
            self._figures.refused += 1
        except MemoryServiceError as error:
            self._note(error)
        else:
            await opened.close()
        self._disk.empty()
        return await open_file(self._path)

    async def _look_around(self, store: SqliteVecStorage) -> None:
        wanted = [content_hash(content) for content in self._there]
        kept = {found.content for found in await store.get_many("default", wanted)}
        self._figures.lost += len(self._there) - len(kept)
        gone = [content_hash(content) for content in self._gone]
        self._figures.half_done += len(await store.get_many("default", gone))
        self._figures.lost += await store.count_all_memories("default") != len(self._there)
        if self._there:
            await self._search(store, self._chance.choice(self._there))
        await store.check_search()

    async def _search(self, store: SqliteVecStorage, content: str) -> None:
        number = content.split()[1]
        hits = (
            (await store.search_by_text(query_terms(f"note {number}"), 50, EVERYTHING)).candidates,
            await store.retrieve(WordEmbedder.vector(content), 50, EVERYTHING),
            await store.search_by_tag({f"t{number}": 1.0}, 5, EVERYTHING),
        )
        found = [content_hash(content) in {hit.content_hash for hit in each} for each in hits]
        self._figures.unreadable += found.count(False)

    async def _expect_full(self, call: Awaitable[object]) -> None:
        if await self._passes(call):
            self._figures.other_errors.append("check_write does not say that the disk is full")

    async def _passes(self, call: Awaitable[object]) -> bool:
        try:
            await call
        except StorageFull:
            self._figures.refused += 1
            return False
        except MemoryServiceError as error:
            self._note(error)
            return False
        return True

    def _note(self, error: MemoryServiceError) -> None:
        self._figures.other_errors.append(f"{type(error).__name__}: {error} ({error.__cause__!r})")


async def play_rounds(disk: SmallDisk, rounds: int, seed: int) -> Figures:
    figures = Figures()
    for number in range(rounds):
        await Round(disk, number, seed, figures).play()
        disk.clear()
    return figures


async def _play_all(disk: SmallDisk, folder: Path, rounds: int, seed: int) -> Figures:
    figures = await play_rounds(disk, rounds, seed)
    figures.erasure = await erase_on_full_disk(disk)
    figures.copies = await copy_onto_full_disk(disk, folder)
    return figures


def run(folder: Path, rounds: int, seed: int) -> Figures:
    try:
        with small_disk(folder / "disk", MEGABYTES) as disk:
            figures = asyncio.run(_play_all(disk, folder, rounds, seed))
            figures.server = serve_on_full_disk(disk, folder)
            return figures
    except NoSmallDisk as reason:
        return Figures(skipped=str(reason))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-full-") as folder:
        figures = run(Path(folder), options.rounds, options.seed)
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
