"""Every kind of damage is found, and what can be rebuilt from the rows is."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from tests.contract.memories import by_name, memory, note
from tests.reliability.oracle import unseen
from tests.support.fakes import WordEmbedder
from tests.support.one_memory import get_one, store_one

from mcp_memory_service.errors import ForeignStore, StoreRefused
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import EmbeddedMemory, Feedback, MemoryFilter, Vector, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep
from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.tables import TABLES

MODEL = WordEmbedder.model_id
CONTENTS = [f"note {i} about topic{i % 5} and more" for i in range(40)]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A sound store with forty memories."""
    path = tmp_path / "memories.db"
    store = await SqliteVecStorage.open(path, MODEL, WordEmbedder.dimension, indexed_text)
    made = [memory(content, f"Topic{i % 5}", "note", at=i) for i, content in enumerate(CONTENTS)]
    await store.store_batch([EmbeddedMemory(each, (WordEmbedder.vector(each.content),)) for each in made])
    await store.close()
    return path


def upkeep(path: Path) -> StoreUpkeep:
    return StoreUpkeep(path, indexed_text, unseen)


def codes(path: Path) -> set[str]:
    return {finding.code for finding in upkeep(path).inspect().findings}


def damage(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))  # ours would refuse some of it
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


async def embed(texts: Sequence[tuple[str, str]]) -> list[list[Vector]]:
    return [[WordEmbedder.vector(f"{heading} {text}")] for heading, text in texts]


def test_a_sound_store_is_said_to_be_sound(path: Path):
    found = upkeep(path).inspect()
    assert (found.memories, found.vectors, found.tags, found.findings) == (40, 40, 6, ())


NO_TRIGGERS = ("DROP TRIGGER memory_words_removed", "DROP TRIGGER memory_words_added")
REBUILDABLE = {
    "text index without a memory": (
        {"text_index_out_of_step"},
        "INSERT INTO memory_text (memory_text, rowid, labels, words, names)"
        " SELECT 'delete', memory_id, labels, words, names FROM memory_words WHERE memory_id = 3",
    ),
    "text index with a word too many": (
        {"text_index_out_of_step"},
        "INSERT INTO memory_text (rowid, labels, words, names) VALUES (3, '', 'ghost', '')",
    ),
    "words gone": ({"words_missing"}, "DELETE FROM memory_words WHERE memory_id IN (4, 5)"),
    "words and index gone": (
        {"words_missing", "text_index_out_of_step", "schema_incomplete"},
        *NO_TRIGGERS,
        "DELETE FROM memory_words WHERE memory_id IN (4, 5)",
    ),
    "trigger gone": ({"schema_incomplete"}, "DROP TRIGGER memory_tags_added"),
    "index gone": ({"schema_incomplete"}, "DROP INDEX memories_by_time"),
    "tag count wrong": ({"tag_counts_wrong"}, "UPDATE tags SET memories = 7 WHERE folded = 'note'"),
    "tag of nobody": (
        {"tag_counts_wrong"},
        "INSERT INTO tags (namespace, folded, display) VALUES ('default', 'x', 'X')",
    ),
    "count of a namespace wrong": ({"namespace_counts_wrong"}, "UPDATE namespaces SET tokens = tokens + 1"),
    "namespace of nobody": ({"namespace_counts_wrong"}, "INSERT INTO namespaces VALUES ('x', 0, 0, 0)"),
    "number of the tags lost": ({"tags_version_missing"}, "DELETE FROM store_info WHERE key = 'tags_version'"),
    "tag lost": ({"orphans"}, "DELETE FROM tags WHERE folded = 'topic3'"),
    "vector of a memory that is gone": (
        {"orphans"},
        "INSERT INTO vectors (memory_id, embedding) SELECT 999, embedding FROM vectors WHERE id = 1",
    ),
    "name of a memory that is gone": ({"orphans"}, "INSERT INTO memory_names VALUES (999, 0, 'note:X')"),
    "edge of a memory that is gone": ({"orphans"}, "INSERT INTO edges VALUES (999, 'link', 1, 'note:X', 1.0)"),
    "vector gone": ({"vectors_missing"}, "DELETE FROM vectors WHERE memory_id = 7"),
    "vector of zeros": ({"vectors_unfit"}, "UPDATE vectors SET embedding = zeroblob(256) WHERE memory_id = 7"),
    "vector of NaN": (
        {"vectors_unfit"},
        "UPDATE vectors SET embedding = unhex(replace(hex(zeroblob(64)), '00', '0000c07f')) WHERE memory_id = 7",
    ),
    "vector too short": ({"vectors_unfit"}, "UPDATE vectors SET embedding = x'0000803f' WHERE memory_id = 7"),
    "vector cut within a number": ({"vectors_unfit"}, "UPDATE vectors SET embedding = x'000080' WHERE memory_id = 7"),
}


@pytest.mark.parametrize("kind", REBUILDABLE)
async def test_what_can_be_rebuilt_is_found_and_rebuilt(path: Path, kind: str):
    expected, *statements = REBUILDABLE[kind]
    damage(path, *statements)
    assert codes(path) == expected
    done = await upkeep(path).repair(MODEL, embed)
    assert {finding.code for finding in done.mended} == expected
    assert done.after.sound
    assert codes(path) == set()
    assert done.copy is not None
    assert codes(done.copy) == expected, "the file as it was is kept"
    await _everything_is_there(path)


async def _everything_is_there(path: Path) -> None:
    store = await SqliteVecStorage.open_existing(path, indexed_text)
    everything = MemoryFilter()
    for i, content in enumerate(CONTENTS):
        kept = await get_one(store, "default", content_hash(content))
        assert kept == memory(content, f"Topic{i % 5}", "note", at=i)
        found = (await store.search_by_text(query_terms(str(i)), 40, everything)).candidates
        assert content_hash(content) in {candidate.content_hash for candidate in found}
        near = await store.retrieve(WordEmbedder.vector(content), 40, everything)
        assert {candidate.content_hash: candidate.score for candidate in near}[content_hash(content)] > 0.999
    assert {tag.tag: tag.memories for tag in await store.get_all_tags("default")} == {
        "note": 40, **{f"Topic{i}": 8 for i in range(5)},
    }  # fmt: skip
    await store.close()


async def test_all_windows_of_a_memory_are_made_again_together(tmp_path: Path):
    path = tmp_path / "memories.db"
    store = await SqliteVecStorage.open(path, MODEL, WordEmbedder.dimension, indexed_text)
    windows = tuple(WordEmbedder.vector(f"window {i}") for i in range(3))
    await store_one(store, EmbeddedMemory(memory("a long text"), windows))
    await store.close()
    damage(path, "UPDATE vectors SET embedding = zeroblob(256) WHERE id = 2")

    async def embed_chunks(texts: Sequence[tuple[str, str]]) -> list[Sequence[Vector]]:
        return [windows for _ in texts]

    assert (await upkeep(path).repair(MODEL, embed_chunks)).after.vectors == 3


async def test_vectors_are_neither_made_nor_dropped_with_another_model(path: Path):
    damage(path, "UPDATE vectors SET embedding = zeroblob(256) WHERE memory_id = 7")
    done = await upkeep(path).repair("another-model", embed)
    assert done.after.vectors == 40
    assert codes(path) == {"vectors_unfit"}


async def test_two_repairs_at_once_make_a_vector_once(path: Path):
    damage(path, "DELETE FROM vectors WHERE memory_id = 7")
    done = await asyncio.gather(*(upkeep(path).repair(MODEL, embed) for _ in range(2)))
    assert [each.after.vectors for each in done] == [40, 40]


async def test_vectors_are_not_made_by_another_model(path: Path):
    damage(path, "DELETE FROM vectors WHERE memory_id = 7", "UPDATE tags SET memories = 7 WHERE folded = 'note'")
    done = await upkeep(path).repair("another-model", embed)
    assert [finding.code for finding in done.mended] == ["tag_counts_wrong"]
    assert codes(path) == {"vectors_missing"}


LOST = {
    "text changed": ("content_changed", "UPDATE memories SET content = 'note X' WHERE id = 3"),
    "kind changed": ("content_changed", "UPDATE memories SET kind = 'note' WHERE id = 3"),
    "metadata is no object": ("metadata_malformed", "UPDATE memories SET metadata = '[1]' WHERE id = 3"),
    "table gone": ("table_missing", "DROP TABLE memory_tags"),
    "names gone": ("table_missing", "DROP TABLE memory_names"),
    "edges gone": ("table_missing", "DROP TABLE edges"),
    "table changed": ("schema_changed", "ALTER TABLE memories ADD COLUMN colour TEXT"),
    "dimension unknown": ("model_unknown", "DELETE FROM store_info WHERE key = 'embedding_dimension'"),
    "version lost": ("schema_version_lost", "PRAGMA user_version = 0"),
    "model unknown": ("model_unknown", "DELETE FROM store_info WHERE key = 'embedding_model'"),
}


@pytest.mark.parametrize("kind", LOST)
async def test_what_cannot_be_rebuilt_is_found_and_left_alone(path: Path, kind: str):
    code, statement = LOST[kind]
    damage(path, statement)
    assert code in codes(path)
    before = path.read_bytes()
    done = await upkeep(path).repair(MODEL, embed)
    assert done.copy is None
    assert code in {finding.code for finding in done.after.findings}
    assert path.read_bytes() == before


def overwrite_root_of(path: Path, name: str) -> None:
    raw = connect(path, read_only=True)
    page = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).get
    raw.close()
    data = bytearray(path.read_bytes())
    data[(page - 1) * 8192 : page * 8192] = b"\x99" * 8192
    path.write_bytes(data)


DERIVED = [
    "memories_by_time", "sqlite_autoindex_memories_1", "vectors", "vectors_by_memory", "memory_words",
    "memory_text_data", "memory_text_idx", "tags", "memory_tags_by_tag",
    "memory_names_by_name", "edges_by_target", "feedback", "idempotency_keys", "tunings", "sources",
    "memories_awaiting_vectors",
]  # fmt: skip


@pytest.mark.parametrize("name", DERIVED)
async def test_damaged_pages_that_hold_nothing_but_derived_things_are_rebuilt(path: Path, name: str):
    store = await SqliteVecStorage.open_existing(path, indexed_text)
    overwrite_root_of(path, name)
    assert not upkeep(path).inspect().sound
    done = await upkeep(path).repair(MODEL, embed)
    assert done.after.findings == ()
    assert done.copy is not None
    await _everything_is_there(path)
    assert await store.count_all_memories("default") == 40, "who has it open goes on"
    await store.close()


@pytest.mark.parametrize("name", ["vectors", "memory_words", "idempotency_keys", "feedback", "tags", "sources"])
async def test_tables_that_are_gone_are_made_again_if_rows_have_it_all(path: Path, name: str):
    damage(path, f"DROP TABLE {name}")
    assert "table_missing" in codes(path)
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    await _everything_is_there(path)


@pytest.mark.parametrize("name", [table.name for table in TABLES if table.role == "truth"])
async def test_damaged_pages_of_the_rows_themselves_are_left_alone(path: Path, name: str):
    overwrite_root_of(path, name)
    before = path.read_bytes()
    done = await upkeep(path).repair(MODEL, embed)
    assert (done.copy, done.after.sound) == (None, False)
    assert path.read_bytes() == before


async def test_kinds_names_edges_and_feedback_are_taken_over_from_a_damaged_file(path: Path):
    store = await SqliteVecStorage.open_existing(path, indexed_text)
    chunk = note("a chunk", "note:A", "note:B", anchor="1")
    await store_one(store, EmbeddedMemory(chunk, (WordEmbedder.vector("a chunk"),)))
    edges = [by_name(chunk, "note:C", weight=0.3)]
    await store.add_edges("default", edges)
    said = Feedback("query", chunk.content_hash, useful=True, created_at=1)
    await store.add_feedback("default", said)
    await store.close()
    overwrite_root_of(path, "memory_words")
    assert (await upkeep(path).repair(MODEL, embed)).after.findings == ()
    store = await SqliteVecStorage.open_existing(path, indexed_text)
    assert await get_one(store, "default", chunk.content_hash) == chunk
    assert await store.edges_from("default", [chunk.content_hash]) == {chunk.content_hash: edges}
    assert await store.list_feedback("default") == [said]
    await store.close()


async def test_one_memory_that_is_lost_keeps_nothing_else_from_being_repaired(path: Path):
    damage(path, "UPDATE memories SET content = 'x' WHERE id = 3", "UPDATE tags SET memories = 7 WHERE folded = 'note'")
    done = await upkeep(path).repair(MODEL, embed)
    assert [finding.code for finding in done.mended] == ["tag_counts_wrong"]
    assert codes(path) == {"content_changed"}


@pytest.mark.parametrize("size", [100, 8192, 20_000])
def test_a_file_cut_short_is_found(path: Path, size: int):
    path.write_bytes(path.read_bytes()[:size])
    assert codes(path) == {"database_damaged"}


def test_what_is_no_store_is_refused(tmp_path: Path):
    with pytest.raises(StoreRefused, match="no store"):
        upkeep(tmp_path / "missing.db").inspect()
    assert not (tmp_path / "missing.db").exists()
    foreign = apsw.Connection(str(tmp_path / "foreign.db"))
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    with pytest.raises(ForeignStore):
        upkeep(tmp_path / "foreign.db").inspect()


async def test_an_index_out_of_step_with_its_table_is_rebuilt(path: Path):
    """While SQLite does not know of the index, a row changes in the table alone."""
    raw = connect(path, read_only=False)
    hidden = raw.execute("SELECT * FROM sqlite_schema WHERE name = 'memory_tags_by_tag'").fetchone()
    raw.close()
    damage(path, "PRAGMA writable_schema = on", "DELETE FROM sqlite_schema WHERE name = 'memory_tags_by_tag'")
    damage(path, "DROP TRIGGER memory_tags_removed", "DELETE FROM memory_tags WHERE memory_id = 3 AND position = 1")
    raw = apsw.Connection(str(path))
    raw.execute("PRAGMA writable_schema = on").fetchall()
    raw.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", hidden)
    raw.close()
    assert "index_damaged" in codes(path)
    assert (await upkeep(path).repair(MODEL, embed)).after.sound
