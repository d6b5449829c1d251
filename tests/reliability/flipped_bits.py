"""One bit of a backup is flipped: restoring it must be refused, and nothing may have happened to the store."""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.whole_stores import notes

from mcp_memory_service.errors import BackupDamaged, ForeignStore, MemoryServiceError
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.sqlite_vec import StoreUpkeep

from .oracle import unseen
from .worker import open_file


@dataclass
class FlipFigures:
    flips: int = 0
    accepted: list[int] = field(default_factory=list[int])
    """Positions at which a flipped bit did not stop the restoring."""
    changed: list[int] = field(default_factory=list[int])
    """Positions at which it was refused, but with a trace in the folder of the store."""
    other_errors: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def clean(self) -> bool:
        return not (self.accepted or self.changed or self.other_errors)


def flip_each(backup: Path, folder: Path, positions: Iterable[int], chance: random.Random) -> FlipFigures:
    """The backup is as it was afterwards; `folder` gets the store that it is restored into."""
    figures = FlipFigures()
    target = folder / "target.db"
    asyncio.run(_fill(target))
    upkeep = StoreUpkeep(target, indexed_text, unseen)
    before = _files(folder)
    for position in positions:
        bit = 1 << chance.randrange(8)
        _flip(backup, position, bit)
        try:
            upkeep.restore(backup)
            figures.accepted.append(position)
            target.write_bytes(before[target.name])
        except (BackupDamaged, ForeignStore):
            pass
        except MemoryServiceError as error:
            figures.other_errors[position] = f"{type(error).__name__}: {error}"
        _flip(backup, position, bit)
        figures.flips += 1
        if _files(folder) != before and position not in figures.accepted:
            figures.changed.append(position)
    return figures


def positions_of(size: int, by_chance: int, first: int, last: int, chance: random.Random) -> list[int]:
    """Some anywhere, and every byte at the beginning and at the end, where the headers are."""
    return [*range(first), *range(size - last, size), *(chance.randrange(size) for _ in range(by_chance))]


async def _fill(path: Path) -> None:
    store = await open_file(path)
    await store.store_batch(notes(10))
    await store.close()


def _files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def _flip(file: Path, position: int, bit: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(position)
        byte = opened.read(1)[0]
        opened.seek(position)
        opened.write(bytes([byte ^ bit]))
