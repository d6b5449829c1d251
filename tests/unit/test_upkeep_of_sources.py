"""Doctor, repair, backup and restore of a store with sources, some of whose memories wait for their vectors."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.contract.memories import by_name, memory, note, waiting
from tests.support.fakes import WordEmbedder
from tests.support.whole_stores import assert_equal, contents
from tests.unit.test_inspection import MODEL, codes, damage, embed, overwrite_root_of, upkeep

from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import EmbeddedMemory, MemoryFilter, SourceRecord
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

SOURCE = "docs/a.md"
RECORD = SourceRecord(SOURCE, "f1", {"links": ["b", 1.0, True]})
WAITS, HAS = note("closed in winter", anchor="Garden > Valves"), note("open in summer", anchor="Garden > Pumps")
PLAIN = memory("a plain memory")


async def opened(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, MODEL, WordEmbedder.dimension, indexed_text)


async def with_vectors(*memories: EmbeddedMemory) -> list[EmbeddedMemory]:
    made = await embed([(item.memory.heading, item.memory.content) for item in memories])
    return [EmbeddedMemory(item.memory, tuple(each)) for item, each in zip(memories, made, strict=True)]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "memories.db"
    store = await opened(path)
    plain, has = await with_vectors(waiting(PLAIN), waiting(HAS))
    await store.store_batch([plain])
    await store.replace_source("default", SOURCE, [waiting(WAITS), has], [by_name(HAS, "note:N")], RECORD)
    await store.close()
    return path


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Path:
    """The store as it was, by way of a backup."""
    made, manifest = upkeep(path).back_up(tmp_path / "a.backup")
    assert (manifest.memories, manifest.vectors) == (3, 2)
    copy = tmp_path / "copy" / "memories.db"
    upkeep(copy).restore(made)
    return copy


async def assert_the_same(path: Path, other: Path, *, records: Sequence[SourceRecord] = (RECORD,)) -> None:
    one, another = await opened(path), await opened(other)
    assert_equal(await contents(one), await contents(another))
    assert await another.awaiting_vectors(10) == await one.awaiting_vectors(10) == [WAITS]
    assert await another.list_sources("default") == list(records)
    assert await another.edges_from("default", [HAS.content_hash]) == {HAS.content_hash: [by_name(HAS, "note:N")]}
    found = (await another.search_by_text(query_terms("garden"), 10, MemoryFilter())).candidates
    assert {each.content_hash for each in found} == {WAITS.content_hash, HAS.content_hash}
    await one.close()
    await another.close()


async def test_a_store_whose_sources_wait_for_vectors_is_sound_and_backed_up(path: Path, copy: Path):
    found = upkeep(path).inspect()
    assert (found.findings, found.memories, found.vectors, found.awaiting_vectors) == ((), 3, 2, 1)
    await assert_the_same(path, copy)


LOST = "DELETE FROM vectors WHERE memory_id IN (SELECT id FROM memories WHERE kind IS NULL)"
LOST_OF_SOURCE = "DELETE FROM vectors WHERE memory_id IN (SELECT id FROM memories WHERE kind = 'note')"
DAMAGES = {
    "vectors of a plain memory": ({"vectors_missing"}, LOST),
    "vectors of a plain memory that waits": (
        {"vectors_missing"},
        LOST,
        "UPDATE memories SET awaits_vectors = 1 WHERE kind IS NULL",
    ),
    "vectors of a source": ({"vectors_missing"}, LOST_OF_SOURCE),
    "waits for what it has": ({"awaiting_wrong"}, "UPDATE memories SET awaits_vectors = 1 WHERE kind = 'note'"),
    "plain, and waits for what it has": (
        {"awaiting_wrong"},
        "UPDATE memories SET awaits_vectors = 1 WHERE kind IS NULL",
    ),
    "unfit vectors": ({"vectors_unfit"}, "UPDATE vectors SET embedding = zeroblob(256)"),
    "words": ({"words_missing"}, "DELETE FROM memory_words"),
    "index": ({"schema_incomplete"}, "DROP INDEX memories_awaiting_vectors"),
}


@pytest.mark.parametrize("kind", DAMAGES)
async def test_what_is_damaged_is_made_again_of_heading_and_text(path: Path, copy: Path, kind: str):
    expected, *statements = DAMAGES[kind]
    damage(path, *statements)
    assert codes(path) == expected
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    await assert_the_same(copy, path)


async def test_vectors_are_made_of_what_they_were_made_of_when_stored(path: Path):
    """As the same text under another heading has other vectors."""
    (under_heading,), (bare,) = await embed([("Garden > Pumps", HAS.content)]), await embed([("", HAS.content)])
    assert not np.allclose(under_heading, bare)
    damage(path, LOST_OF_SOURCE)
    await upkeep(path).repair(MODEL, embed)
    store = await opened(path)
    (kept,) = await store.get_embedded("default", [HAS.content_hash])
    assert np.allclose(kept.vectors, under_heading)
    await store.close()


async def test_a_record_that_is_none_is_dropped_so_that_its_file_is_read_again(path: Path, copy: Path):
    damage(path, "UPDATE sources SET details = '[1' || details")
    assert codes(path) == {"sources_malformed"}
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    await assert_the_same(copy, path, records=())


@pytest.mark.parametrize("table", ["memory_words", "memories_by_time", "memories_awaiting_vectors"])
async def test_sources_and_what_waits_are_taken_over_from_a_damaged_file(path: Path, copy: Path, table: str):
    overwrite_root_of(path, table)
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    await assert_the_same(copy, path)


async def test_lost_records_cost_no_memory(path: Path, copy: Path):
    overwrite_root_of(path, "sources")
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    await assert_the_same(copy, path, records=())


async def test_lost_vectors_are_made_again_but_for_those_that_wait(path: Path, copy: Path):
    damage(path, "DROP TABLE vectors")
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    await assert_the_same(copy, path)
