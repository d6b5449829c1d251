"""Backups are made while three processes write without pause: is each of them a moment of the store, whole and sound?

`python -m tests.reliability.backups_under_load --backups 20 --flips 500`.
"""

import argparse
import asyncio
import json
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.contract.memories import EVERYTHING, memory
from tests.support.fakes import WordEmbedder
from tests.support.one_memory import store_one
from tests.support.whole_stores import Contents, assert_equal, contents

from mcp_memory_service.errors import MemoryServiceError
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import EmbeddedMemory, Feedback, Vector
from mcp_memory_service.models.upkeep import Manifest
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep
from mcp_memory_service.storage.sqlite_vec.file.connection import connect

from .flipped_bits import FlipFigures, flip_each, positions_of
from .journal import begun_so_far, done_so_far, read_journal
from .kills import Writer
from .numbered_writers import Course, name_of, write_numbered
from .oracle import problems_of, unseen
from .worker import open_file, start

WRITERS = 3
FIRST_BYTES, LAST_BYTES = 100, 400
SCRIBBLE = "written into the restored store, and gone with the next restore"


@dataclass
class Figures:
    backups: int = 0
    memories: int = 0
    """In the last backup."""
    acknowledged_writes: int = 0
    not_a_moment: int = 0
    """Restored stores that are not what some writer had left at any time while the backup was made."""
    wrong_vectors: int = 0
    counts_that_differ: int = 0
    """Manifests that do not say what is in the backup."""
    unsound: list[str] = field(default_factory=list[str])
    unequal: int = 0
    """Whether the last backup, restored, is not the store it was made of when nobody writes any more."""
    handles_used: int = 0
    not_seen: int = 0
    """Restores that a handle, open on the file all the while, did not see with its next query."""
    longest_backup_seconds: float = 0.0
    errors: dict[str, int] = field(default_factory=dict[str, int])
    flips: FlipFigures = field(default_factory=FlipFigures)

    @property
    def clean(self) -> bool:
        wrong = self.not_a_moment or self.wrong_vectors or self.counts_that_differ or self.unsound or self.unequal
        return self.flips.clean and not (wrong or self.not_seen or self.errors)


@dataclass(frozen=True)
class Backup:
    file: Path
    manifest: Manifest
    earliest: Sequence[int]
    """Of each writer, how many operations were acknowledged before the backup began."""
    latest: Sequence[int]
    """And how many were begun when it ended."""


class Run:
    """A file that is written by some processes, and stores beside it that its backups are restored into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._source = folder / "memories.db"
        self._target = folder / "restored" / "again.db"
        self._courses = [Course(number) for number in range(WRITERS)]
        self._writers = [self._writer(number) for number in range(WRITERS)]
        self.figures = Figures()

    def _writer(self, number: int) -> Writer:
        journal = self._folder / f"{name_of(number)}.journal"
        return Writer(start(write_numbered, self._source, journal, number), journal)

    async def strain(self, backups: int, head_start: int) -> None:
        """Back up and restore while the writers write, who are so many operations ahead."""
        watching = await open_file(self._target)
        for number in range(backups):
            self._await_writers(head_start + number)
            try:
                await self._copy(number, watching)
            except MemoryServiceError as error:
                self._note(f"{type(error).__name__}: {error}")
        await watching.close()
        self.figures.unsound += problems_of(self._target)

    def _await_writers(self, operations: int) -> None:
        for writer in self._writers:
            if not writer.await_more_than(operations):
                self._note("a writer gets nothing done")

    async def _copy(self, number: int, watching: SqliteVecStorage) -> None:
        backup = await asyncio.to_thread(self._back_up, number)
        if number % 2:
            await self._restore_under(watching, backup)
        else:
            await self._restore_anew(backup, self._target.with_name(f"new{number}.db"))

    def _back_up(self, number: int) -> Backup:
        earliest = [done_so_far(writer.journal) for writer in self._writers]
        began = time.monotonic()
        file, manifest = upkeep(self._source).back_up(_backup_file(self._folder, number))
        seconds = time.monotonic() - began
        latest = [begun_so_far(writer.journal) for writer in self._writers]
        self.figures.backups += 1
        self.figures.memories = manifest.memories
        self.figures.longest_backup_seconds = round(max(self.figures.longest_backup_seconds, seconds), 2)
        return Backup(file, manifest, earliest, latest)

    async def _restore_anew(self, backup: Backup, target: Path) -> None:
        await asyncio.to_thread(upkeep(target).restore, backup.file)
        self.figures.unsound += problems_of(target)
        store = await open_file(target)
        self._judge(backup, await contents(store))
        await store.close()

    async def _restore_under(self, watching: SqliteVecStorage, backup: Backup) -> None:
        """The handle has written something of its own, which must be gone as well."""
        await store_one(watching, EmbeddedMemory(memory(SCRIBBLE, "scribble"), (WordEmbedder.vector(SCRIBBLE),)))
        await asyncio.to_thread(upkeep(self._target).restore, backup.file)
        found = await contents(watching)
        self._judge(backup, found)
        self.figures.handles_used += 1
        tags = {tag.tag for tag in await watching.get_all_tags("default")}
        self.figures.not_seen += "scribble" in tags or not await _finds_newest(watching, found)
        self.figures.counts_that_differ += len(tags) != backup.manifest.tags

    def _judge(self, backup: Backup, found: Contents) -> None:
        by_content = {stored.content: stored for stored, _ in found.values()}
        known = 0
        for number, course in enumerate(self._courses):
            own = {text: stored for text, stored in by_content.items() if name_of(number) in stored.tags}
            known += len(own)
            moment = course.moment(own, backup.earliest[number], backup.latest[number])
            self.figures.not_a_moment += moment is None
        self.figures.not_a_moment += known != len(found)
        right = [np.array_equal(vectors, [_vector(stored.content)]) for stored, vectors in found.values()]
        self.figures.wrong_vectors += right.count(False)
        manifest = backup.manifest
        tags = {tag for stored in by_content.values() for tag in stored.tags}
        counts = (manifest.memories, manifest.vectors, manifest.tags)
        self.figures.counts_that_differ += counts != (len(found), len(found), len(tags))

    def stop_writers(self) -> None:
        for writer in self._writers:
            if not writer.end(signal.SIGTERM):
                self._note("a writer did not end as it should")
            account = read_journal(writer.journal)
            self.figures.acknowledged_writes += len(account.acknowledged)
            self.figures.errors = dict(Counter(self.figures.errors) + account.errors)

    async def compare_at_rest(self) -> None:
        """With nobody writing, what comes back is the whole store, down to every row."""
        source, target = await open_file(self._source), self._target.with_name("last.db")
        there = await contents(source)
        some_hash = min(content_hash for _, content_hash in there)
        await source.add_feedback("default", Feedback("which one", some_hash, useful=True, created_at=1))
        backup = await asyncio.to_thread(self._back_up, self.figures.backups)
        await self._restore_anew(backup, target)
        restored = await open_file(target)
        try:
            assert_equal(there, await contents(restored))
        except AssertionError:
            self.figures.unequal += 1
        await restored.close()
        await source.close()
        self.figures.unequal += _rows(self._source) != _rows(target)
        self.figures.unsound += problems_of(self._source)

    def _note(self, error: str) -> None:
        self.figures.errors[error] = self.figures.errors.get(error, 0) + 1


def upkeep(path: Path) -> StoreUpkeep:
    return StoreUpkeep(path, indexed_text, unseen)


def _backup_file(folder: Path, number: int) -> Path:
    return folder / f"{number}.backup"


async def _finds_newest(store: SqliteVecStorage, found: Contents) -> bool:
    """By its words, by its meaning and by its tag."""
    numbered = [stored for stored, _ in found.values() if stored.content != SCRIBBLE]
    if not numbered:
        return False
    newest = max(numbered, key=lambda stored: int(stored.content.split()[1]))
    words = query_terms(" ".join(newest.content.split()[:6]))
    hits = (
        (await store.search_by_text(words, 50, EVERYTHING)).candidates,
        await store.retrieve(WordEmbedder.vector(newest.content), 50, EVERYTHING),
        await store.search_by_tag({newest.tags[1]: 1.0}, 1_000, EVERYTHING),
    )
    return all(newest.content_hash in {hit.content_hash for hit in each} for each in hits)


@cache
def _vector(content: str) -> Vector:
    return WordEmbedder.vector(content)


def _rows(path: Path) -> dict[str, list[Any]]:
    """All rows of all tables but the numbers that a restore counts up, so that other processes read the tags anew."""
    connection = connect(path, read_only=True)
    try:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'memory_vocabulary'"
        )
        return {
            str(name): [
                row[:-1] if name == "namespaces" else row
                for row in connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608
                if row[0] != "tags_version"
            ]
            for (name,) in tables.fetchall()
        }
    finally:
        connection.close()


async def _strained(folder: Path, backups: int, head_start: int) -> Figures:
    run = Run(folder)
    try:
        await run.strain(backups, head_start)
    finally:
        run.stop_writers()
    await run.compare_at_rest()
    return run.figures


def run(folder: Path, backups: int, head_start: int, flips: int, first: int, last: int, seed: int) -> Figures:
    figures = asyncio.run(_strained(folder, backups, head_start))
    backup, chance = _backup_file(folder, 0), random.Random(seed)
    flipped = folder / "flipped"
    flipped.mkdir()
    figures.flips = flip_each(backup, flipped, positions_of(backup.stat().st_size, flips, first, last, chance), chance)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backups", type=int, default=20)
    parser.add_argument("--head-start", type=int, default=300, help="operations of each writer before the first backup")
    parser.add_argument(
        "--flips", type=int, default=500, help="at random; the headers are flipped byte by byte besides"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-backups-") as folder:
        figures = run(
            Path(folder), options.backups, options.head_start, options.flips, FIRST_BYTES, LAST_BYTES, options.seed
        )
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
