"""A process is killed while it indexes a folder: is each file as it was or as it is, and does the next run do the rest?

python -m tests.reliability.index_kills --kills 40
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.support.fakes import WordEmbedder
from tests.support.patience import HANG_SECONDS
from tests.support.vaults import indexed, write

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import MemoryFilter
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .journal import Journal
from .oracle import problems_of
from .worker import open_file, start, work_on

FILES = 120
CHANGED_EACH_TIME = 40


@dataclass
class IndexFigures:
    kills: int = 0
    killed_before_the_end: int = 0
    files_judged: int = 0
    half_done_files: int = 0
    """With chunks of both versions, or without some of either."""
    differences_after_the_next_run: int = 0
    problems: int = 0

    @property
    def clean(self) -> bool:
        return not (self.half_done_files or self.differences_after_the_next_run or self.problems)


def index_once(path: Path, vault: Path, journal: Path) -> None:
    """In a process of its own; the file tells the parent that it is up."""
    Journal(journal.with_suffix(".up")).close()

    async def work(store: SqliteVecStorage, journal: Journal) -> None:
        service = MemoryService(store, WordEmbedder())
        await service.sources.index(vault)
        await service.sources.embed()
        journal.done(0.0)

    work_on(path, journal, work)


def run(folder: Path, kills: int, seed: int) -> IndexFigures:
    figures, chance = IndexFigures(), random.Random(seed)
    vault, store_file = folder / "vault", folder / "store.db"
    write(vault, {_path(number): _text(number, 0) for number in range(FILES)})
    seconds = _indexed(store_file, vault, folder / "first", None)
    before = asyncio.run(_chunks(store_file))
    for version in range(1, kills + 1):
        _change(vault, version, chance)
        after = asyncio.run(_fresh_chunks(vault))
        _indexed(store_file, vault, folder / f"journal{version}", chance.uniform(0.0, seconds))
        figures.kills += 1
        now = asyncio.run(_chunks(store_file))
        figures.killed_before_the_end += now != after
        for source in before.keys() | after.keys():
            figures.files_judged += 1
            figures.half_done_files += now.get(source) not in (before.get(source), after.get(source))
        before = asyncio.run(_settled(store_file, vault, figures))
        figures.problems += len(problems_of(store_file))
    return figures


def _indexed(store_file: Path, vault: Path, journal: Path, kill_after: float | None) -> float:
    """How long it took until the process had ended, by itself or not."""
    process = start(index_once, store_file, vault, journal)
    until = time.monotonic() + HANG_SECONDS
    while not journal.with_suffix(".up").exists() and time.monotonic() < until:
        time.sleep(0.001)
    began = time.monotonic()
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    process.join()
    process.close()
    return time.monotonic() - began


def _path(number: int) -> str:
    return f"{'sub/' if number % 3 else ''}note{number}.md"


def _text(number: int, version: int) -> str:
    parts = "".join(f"## Part {part}\n\n{'words of it ' * 90} {version}\n\n" for part in range(3))
    return f"# Note {number}\n\nSee [[note{(number + version) % FILES}]].\n\n{parts}"


def _change(vault: Path, version: int, chance: random.Random) -> None:
    for number in chance.sample(range(FILES), CHANGED_EACH_TIME):
        file = vault / _path(number)
        if chance.random() < 0.2 and file.exists():
            file.unlink()
        else:
            write(vault, {_path(number): _text(number, version)})


async def _chunks(store_file: Path) -> Mapping[str, frozenset[str]]:
    store = await open_file(store_file)
    try:
        return await _by_source(store)
    finally:
        await store.close()


async def _by_source(store: Store) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for memory in (await store.list_memories(MemoryFilter(kinds=("note",)), 0, 100_000)).memories:
        found.setdefault(memory.source or "", set()).add(memory.content_hash)
    return {source: frozenset(ids) for source, ids in found.items()}


async def _fresh(vault: Path) -> MemoryStore:
    store = await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
    await MemoryService(store, WordEmbedder()).sources.index(vault)
    return store


async def _fresh_chunks(vault: Path) -> Mapping[str, frozenset[str]]:
    return await _by_source(await _fresh(vault))


async def _settled(store_file: Path, vault: Path, figures: IndexFigures) -> Mapping[str, frozenset[str]]:
    """After one more run that nobody disturbs."""
    store = await open_file(store_file)
    try:
        await MemoryService(store, WordEmbedder()).sources.index(vault)
        fresh = await indexed(await _fresh(vault), dates=False)
        figures.differences_after_the_next_run += await indexed(store, dates=False) != fresh
        return await _by_source(store)
    finally:
        await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-index-kills-") as folder:
        figures = run(Path(folder), options.kills, options.seed)
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
