"""Purges, and writes that finish one, on a disk that is full at any stage of them: who is refused has done nothing."""

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field

from tests.contract.memories import memory
from tests.support.fakes import WordEmbedder
from tests.support.one_memory import get_one, store_one
from tests.support.whole_stores import notes

from mcp_memory_service.errors import MemoryServiceError, StorageFull
from mcp_memory_service.models import EmbeddedMemory, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.upkeep import erasure

from .oracle import problems_of
from .small_disk import SmallDisk
from .worker import open_file

STEPS, STEP_BYTES = range(80), 8192
LONG = "a long text that takes some pages: " + " ".join(f"word{number}" for number in range(3_000))


@dataclass
class ErasureFigures:
    purges_refused: int = 0
    writes_refused: int = 0
    passed: int = 0
    refused_but_done: dict[str, int] = field(default_factory=dict[str, int])
    other_errors: list[str] = field(default_factory=list[str])

    @property
    def clean(self) -> bool:
        return not (self.refused_but_done or self.other_errors)


async def erase_on_full_disk(disk: SmallDisk, steps: Iterable[int] = STEPS) -> ErasureFigures:
    """With so many steps of space left, each in its turn."""
    figures = ErasureFigures()
    for step in steps:
        figures.purges_refused += await _purge(disk, step * STEP_BYTES, figures)
        figures.writes_refused += await _finish_by_a_write(disk, step * STEP_BYTES, figures)
    return figures


async def _purge(disk: SmallDisk, space: int, figures: ErasureFigures) -> bool:
    store = await _filled(disk)
    chosen = notes(2)[1].memory.content_hash
    disk.fill(leaving=space)
    refused = await _refused(store.purge("default", [chosen]), figures)
    disk.empty()
    if refused and await get_one(store, "default", chosen) is None:
        _count("a purge", figures)
    await _close(store, disk, figures)
    return refused


async def _finish_by_a_write(disk: SmallDisk, space: int, figures: ErasureFigures) -> bool:
    """As after a process that died when it had rewritten the file and not yet emptied the log."""
    store = await _filled(disk)
    await store.connections.write(lambda connection: erasure.note_left(connection, "log"))
    disk.fill(leaving=space)
    refused = await _refused(store_one(store, EmbeddedMemory(memory(LONG), (WordEmbedder.vector(LONG),))), figures)
    disk.empty()
    if refused and await get_one(store, "default", content_hash(LONG)) is not None:
        _count("a write that finishes a purge", figures)
    await _close(store, disk, figures)
    return refused


async def _filled(disk: SmallDisk) -> SqliteVecStorage:
    store = await open_file(disk.folder / "memories.db")
    await store.store_batch(notes(60))
    return store


async def _close(store: SqliteVecStorage, disk: SmallDisk, figures: ErasureFigures) -> None:
    await store.close()
    figures.other_errors += problems_of(disk.folder / "memories.db")
    disk.clear()


async def _refused(call: Awaitable[object], figures: ErasureFigures) -> bool:
    try:
        await call
    except StorageFull:
        return True
    except MemoryServiceError as error:
        figures.other_errors.append(f"{type(error).__name__}: {error} ({error.__cause__!r})")
        return True
    figures.passed += 1
    return False


def _count(what: str, figures: ErasureFigures) -> None:
    figures.refused_but_done[what] = figures.refused_but_done.get(what, 0) + 1
