"""Doctor, repair, backup and restore of a store whose memories have a history and a trash."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.memories import by_name, memory
from tests.support.fakes import WordEmbedder
from tests.support.whole_stores import assert_equal, contents, notes
from tests.unit.test_inspection import MODEL, codes, damage, embed, overwrite_root_of, upkeep

from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import (
    Edge,
    EmbeddedMemory,
    Feedback,
    MemoryFilter,
    MemoryPatch,
    content_hash,
    history_of,
    trash_of,
)
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

TUESDAY, THURSDAY, FRIDAY = "deploys on Tuesday", "deploys on Thursday", "deploys on Friday"
SECTIONS = ("default", history_of("default"), trash_of("default"))


async def opened(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, MODEL, WordEmbedder.dimension, indexed_text)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A memory was edited, superseded by another one and that one trashed, among thirty others."""
    path = tmp_path / "memories.db"
    store = await opened(path)
    first = replace(memory(TUESDAY, "Deploy", "ops"), pinned=True, expires_at=90_000)
    await store.store_batch([EmbeddedMemory(first, (WordEmbedder.vector(TUESDAY),)), *notes(30)])
    await store.add_edges("default", [by_name(first, "note:Release", weight=0.5)])
    patch = MemoryPatch(content=THURSDAY)
    assert await store.update("default", first.content_hash, patch, 5_000, None, [WordEmbedder.vector(THURSDAY)])
    last = EmbeddedMemory(memory(FRIDAY, "Deploy", at=6_000), (WordEmbedder.vector(FRIDAY),))
    await store.store_batch([replace(last, supersedes=(content_hash(THURSDAY),))])
    await store.add_feedback("default", Feedback("when", content_hash(FRIDAY), useful=True, created_at=6_500))
    assert await store.delete("default", content_hash(FRIDAY), trashed_at=7_000)
    await store.close()
    return path


async def assert_the_same(path: Path, other: Path) -> None:
    """In every section, with what belongs to the memories, and found by words."""
    ids = [content_hash(text) for text in (TUESDAY, THURSDAY, FRIDAY)]
    one, another = await opened(path), await opened(other)
    assert_equal(await contents(one), await contents(another))
    for section in SECTIONS:
        edges = await one.edges_from(section, ids)
        assert await another.edges_from(section, ids) == edges
        assert await another.list_feedback(section) == await one.list_feedback(section)
        assert await another.get_all_tags(section) == await one.get_all_tags(section)
        found = (await another.search_by_text(query_terms("deploys"), 10, MemoryFilter(section))).candidates
        assert len(found) == {history_of("default"): 2, trash_of("default"): 1}.get(section, 0)
    await one.close()
    await another.close()


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Path:
    """The store as it was, by way of a backup."""
    made, manifest = upkeep(path).back_up(tmp_path / "a.backup")
    assert manifest.memories == 33, "with those in the history and in the trash"
    copy = tmp_path / "copy" / "memories.db"
    upkeep(copy).restore(made)
    return copy


async def test_history_and_trash_are_sound_and_part_of_a_backup(path: Path, copy: Path):
    assert codes(path) == codes(copy) == set()
    await assert_the_same(path, copy)
    store = await opened(copy)
    restored = await store.restore("default", content_hash(FRIDAY), 8_000)
    assert restored is not None
    edges = await store.edges_from("default", [restored.content_hash])
    thursday = content_hash(THURSDAY)
    assert edges == {restored.content_hash: [Edge(restored.content_hash, thursday, "supersedes", by_name=False)]}
    await store.close()


ANNEXED = "(SELECT id FROM memories WHERE namespace LIKE 'default#%')"
DAMAGES = {
    "words": ("words_missing", f"DELETE FROM memory_words WHERE memory_id IN {ANNEXED}"),  # noqa: S608
    "vectors": ("vectors_missing", f"DELETE FROM vectors WHERE memory_id IN {ANNEXED}"),  # noqa: S608
    "tags": ("orphans", "DELETE FROM tags WHERE namespace LIKE 'default#%'"),
    "counts": ("namespace_counts_wrong", "DELETE FROM namespaces WHERE namespace LIKE 'default#%'"),
    "index": ("schema_incomplete", "DROP INDEX edges_by_target"),
}


@pytest.mark.parametrize("kind", DAMAGES)
async def test_what_is_damaged_of_history_and_trash_is_rebuilt(path: Path, copy: Path, kind: str):
    code, statement = DAMAGES[kind]
    damage(path, statement)
    assert code in codes(path)
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    await assert_the_same(copy, path)


@pytest.mark.parametrize("table", ["memory_words", "tags", "memories_by_time", "edges_by_target"])
async def test_history_and_trash_are_taken_over_from_a_damaged_file(path: Path, copy: Path, table: str):
    overwrite_root_of(path, table)
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    await assert_the_same(copy, path)
