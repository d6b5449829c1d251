"""A process is killed while it brings a file of the first schema version up to date: is everything there afterwards?"""

import asyncio
import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import apsw
from tests.contract.memories import EVERYTHING
from tests.support.fakes import WordEmbedder
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.errors import MemoryServiceError
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, schema
from mcp_memory_service.storage.sqlite_vec.file import connection

from .journal import Journal
from .oracle import problems_of
from .worker import open_file, start, work_on

MEMORIES = 3_000
SEARCHED = 60
EVERY_TEXT = "tunnel"


@dataclass
class MigrationFigures:
    kills: int = 0
    memories: int = 0
    migration_seconds: float = 0.0
    """How long it takes undisturbed; the kills fall into that time and a little after it."""
    killed_before_the_end: int = 0
    lost_memories: int = 0
    not_found_by_words: int = 0
    not_found_by_vector: int = 0
    lost_tags: int = 0
    refused: int = 0
    """Files that could not be opened after the kill."""
    problems: int = 0

    @property
    def clean(self) -> bool:
        lost = self.lost_memories or self.not_found_by_words or self.not_found_by_vector or self.lost_tags
        return not (lost or self.refused or self.problems)


def run_migration_kills(folder: Path, kills: int, seed: int, memories: int = MEMORIES) -> MigrationFigures:
    figures = MigrationFigures(memories=memories)
    if not kills:
        return figures
    old = folder / "old.db"
    build_first_version(old, memories)
    undisturbed = Path(shutil.copy(old, folder / "undisturbed.db"))
    figures.migration_seconds = round(_migrate(undisturbed, None), 3)
    chance = random.Random(seed)
    for number in range(kills):
        path = Path(shutil.copy(old, folder / f"migrated{number}.db"))
        _migrate(path, chance.uniform(0.0, 1.2 * figures.migration_seconds))
        figures.kills += 1
        figures.killed_before_the_end += _version(path) == 1
        asyncio.run(_judge(path, figures))
        path.unlink()
    return figures


def build_first_version(path: Path, memories: int) -> None:
    connection.create_store_file(path)
    raw = connection.connect(path, read_only=False)
    schema.prepare(raw, path, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text, schema.MIGRATIONS[:1])
    with connection.immediate_transaction(raw):
        raw.execute("INSERT INTO tags (id, namespace, folded, display) VALUES (1, 'default', 'old', 'Old')")
        for number in range(1, memories + 1):
            content = _content(number)
            raw.execute(
                "INSERT INTO memories (id, namespace, content_hash, created_at, updated_at, metadata, content)"
                " VALUES (?, 'default', ?, 1, 1, '{}', ?)",
                (number, content_hash(content), content),
            )
            raw.execute("INSERT INTO memory_tags VALUES (?, 1, 0, 'Old')", (number,))
            vector = WordEmbedder.vector(content).tobytes()
            raw.execute("INSERT INTO vectors (memory_id, embedding) VALUES (?, ?)", (number, vector))
    raw.close()


def _content(number: int) -> str:
    return f"the {EVERY_TEXT} number{number} of an old file"


def open_once(path: Path, journal: Path) -> None:
    """Opening migrates. The file tells the parent that the process is up."""
    Journal(journal.with_suffix(".up")).close()

    async def nothing_more(store: SqliteVecStorage, journal: Journal) -> None:
        journal.done(0.0)

    work_on(path, journal, nothing_more)


def _migrate(path: Path, kill_after: float | None) -> float:
    """How long it took until the process had ended, by itself or not."""
    journal = path.with_suffix(".journal")
    up = journal.with_suffix(".up")
    process = start(open_once, path, journal)
    until = time.monotonic() + HANG_SECONDS
    while not up.exists() and time.monotonic() < until:
        time.sleep(0.001)
    began = time.monotonic()
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    process.join()
    process.close()
    return time.monotonic() - began


def _version(path: Path) -> int:
    raw = connection.connect(path, read_only=True)
    try:
        return schema.schema_version(raw)
    finally:
        raw.close()


async def _judge(path: Path, figures: MigrationFigures) -> None:
    try:
        store = await open_file(path)
    except (MemoryServiceError, apsw.Error):  # half a migration shows as an error in our SQL
        figures.refused += 1
        return
    expected = {content_hash(_content(number)) for number in range(1, figures.memories + 1)}
    figures.lost_memories += len(expected) - await store.count_all_memories("default")
    by_word = (await store.search_by_text(query_terms(EVERY_TEXT), figures.memories + 1, EVERYTHING)).candidates
    figures.not_found_by_words += len(expected ^ {hit.content_hash for hit in by_word})
    by_vector = await store.retrieve(WordEmbedder.vector(EVERY_TEXT), figures.memories + 1, EVERYTHING)
    figures.not_found_by_vector += len(expected ^ {hit.content_hash for hit in by_vector})
    for number in range(1, figures.memories + 1, max(1, figures.memories // SEARCHED)):
        hits = (await store.search_by_text(query_terms(f"number{number}"), 2, EVERYTHING)).candidates
        figures.not_found_by_words += [hit.content_hash for hit in hits] != [content_hash(_content(number))]
    tags = await store.get_all_tags("default")
    figures.lost_tags += sum(figures.memories - tag.memories for tag in tags) + (len(tags) != 1)
    await store.close()
    figures.problems += len(problems_of(path))
