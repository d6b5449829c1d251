"""Whole stores put onto a disk that runs full at every stage of it: the old is there or the new, and nothing else."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.whole_stores import Contents, assert_equal, contents, notes

from mcp_memory_service.errors import MemoryServiceError, StorageFull
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep

from .oracle import problems_of, unseen
from .small_disk import SmallDisk
from .worker import open_file

SMALL, LARGE = 40, 300
STEP_BYTES = 64 * 1024


@dataclass
class CopyFigures:
    backups_refused: int = 0
    restores_refused: int = 0
    openings_refused: int = 0
    copies_left: int = 0
    """Backups of the old store that refused restores have left behind."""
    passed: int = 0
    """Attempts that had space enough: the last of each kind, so that all stages before were met."""
    wrong: list[str] = field(default_factory=list[str])

    @property
    def clean(self) -> bool:
        return not self.wrong


async def copy_onto_full_disk(disk: SmallDisk, folder: Path) -> CopyFigures:
    figures = CopyFigures()
    source, backup = folder / "source.db", folder / "source.backup"
    await _filled(source, notes(LARGE))
    await asyncio.to_thread(_upkeep(source).back_up, backup)
    expected = await _contents_of(source)
    figures.backups_refused = await _backups(disk, source, figures)
    figures.restores_refused = await _restores(disk, backup, expected, figures)
    figures.openings_refused = await _openings(disk, figures)
    return figures


async def _backups(disk: SmallDisk, source: Path, figures: CopyFigures) -> int:
    target = disk.folder / "backups"
    target.mkdir()

    def attempt() -> None:
        _upkeep(source).back_up(target / "new.backup")

    refused = 0
    while not await _fits(disk, refused * STEP_BYTES, attempt, figures):
        refused += 1
        if any(target.iterdir()):
            figures.wrong.append(f"a refused backup leaves {[file.name for file in target.iterdir()]}")
            break
    disk.clear()
    return refused


async def _restores(disk: SmallDisk, backup: Path, expected: Contents, figures: CopyFigures) -> int:
    """Over a smaller store that somebody has open; it must stay whole until the other is there."""
    target = disk.folder / "store" / "target.db"
    await _filled(target, notes(SMALL))
    before = await _contents_of(target)
    refused = 0
    while not await _fits(disk, refused * STEP_BYTES, lambda: _upkeep(target).restore(backup), figures):
        refused += 1
        parts = [file.name for file in target.parent.iterdir() if ".part" in file.name]
        if parts or problems_of(target):
            figures.wrong.append(f"after a refused restore: {parts or problems_of(target)}")
        now = await _contents_of(target)
        _compare(before, now, "a refused restore changes the store", figures)
        before = now
        for copy in target.parent.glob("*.before-restore-*"):
            copy.unlink()
            figures.copies_left += 1
    _compare(expected, await _contents_of(target), "a restore on a narrow disk is not whole", figures)
    disk.clear()
    return refused


async def _openings(disk: SmallDisk, figures: CopyFigures) -> int:
    path = disk.folder / "new" / "memories.db"
    refused = 0
    while not await _fits(disk, refused * STEP_BYTES // 16, lambda: asyncio.run(_opened_and_closed(path)), figures):
        refused += 1
    if problems_of(path):
        figures.wrong.append(f"a store opened after it was refused: {problems_of(path)}")
    disk.clear()
    return refused


async def _fits(disk: SmallDisk, space: int, attempt: Callable[[], object], figures: CopyFigures) -> bool:
    """Whether it succeeds with so much space; the ballast is gone afterwards. Any error but StorageFull ends it."""
    disk.fill(leaving=space)
    try:
        await asyncio.to_thread(attempt)
    except StorageFull:
        return False
    except MemoryServiceError as error:
        figures.wrong.append(f"with {space} bytes: {type(error).__name__}: {error} ({error.__cause__!r})")
        return False
    finally:
        disk.empty()
    figures.passed += 1
    return True


async def _filled(path: Path, items: list[EmbeddedMemory]) -> None:
    store = await open_file(path)
    await store.store_batch(items)
    await store.close()


async def _opened_and_closed(path: Path) -> None:
    store: SqliteVecStorage = await open_file(path)
    await store.close()


async def _contents_of(path: Path) -> Contents:
    store = await open_file(path)
    found = await contents(store)
    await store.close()
    return found


def _compare(one: Contents, other: Contents, otherwise: str, figures: CopyFigures) -> None:
    try:
        assert_equal(one, other)
    except AssertionError:
        figures.wrong.append(otherwise)


def _upkeep(path: Path) -> StoreUpkeep:
    return StoreUpkeep(path, indexed_text, unseen)
