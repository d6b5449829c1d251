"""What only the SQLite store can get wrong: its file, its schema, its versions."""

import stat
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.support.one_memory import get_one, store_one

from mcp_memory_service.errors import (
    EmbeddingMismatch,
    EngineTooOld,
    ForeignStore,
    SchemaTooNew,
    StorageUnavailable,
    StoreCorrupt,
    StoreRefused,
)
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import EmbeddedMemory, IdempotencyKey, Memory, MemoryFilter, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, schema
from mcp_memory_service.storage.sqlite_vec.file import connection
from mcp_memory_service.storage.sqlite_vec.tables import OWNED, TABLES


def embedded(content: str, *tags: str) -> EmbeddedMemory:
    memory = Memory(content=content, content_hash=content_hash(content), created_at=1, updated_at=1, tags=tags)
    return EmbeddedMemory(memory, (np.ones(4, dtype=np.float32),))


async def opened(path: Path, model: str = "m", dimension: int | None = 4) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, model, dimension, indexed_text)


async def test_file_and_folder_are_private(tmp_path: Path):
    path = tmp_path / "new" / "deeper" / "memories.db"
    store = await opened(path)
    await store_one(store, embedded("secret"))
    files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(files.values()) == {0o600}
    assert "memories.db-wal" in files
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await store.close()


async def test_a_file_that_others_may_read_is_closed_to_them(tmp_path: Path):
    path = tmp_path / "memories.db"
    path.touch(mode=0o644)
    await (await opened(path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_durability_settings_are_really_on(tmp_path: Path):
    def pragmas(each: apsw.Connection) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "temp_store", "page_size")
        return {name: each.execute(f"PRAGMA {name}").get for name in names}

    store = await opened(tmp_path / "memories.db")
    for work in (store.connections.outside_transaction, store.connections.read):
        assert await work(pragmas) == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "secure_delete": 1,
            "temp_store": 2,
            "page_size": 8192,
        }


async def test_another_model_or_dimension_is_refused_with_advice(tmp_path: Path):
    path = tmp_path / "memories.db"
    await (await opened(path)).close()
    with pytest.raises(EmbeddingMismatch, match=r"made with the embedding model 'm'.*MCP_MEMORY_SQLITE_PATH"):
        await opened(path, model="other")
    with pytest.raises(EmbeddingMismatch, match=r"4 numbers.*makes 8"):
        await opened(path, dimension=8)
    await (await opened(path, dimension=None)).close()


async def test_an_unknown_dimension_is_pinned_by_the_first_vector(tmp_path: Path):
    path = tmp_path / "memories.db"
    store = await opened(path, dimension=None)
    await store_one(store, embedded("a"))
    await store.close()
    with pytest.raises(EmbeddingMismatch, match="4 numbers"):
        await opened(path, dimension=5)


async def test_a_database_of_another_program_is_left_alone(tmp_path: Path):
    path = tmp_path / "foreign.db"
    foreign = apsw.Connection(str(path))
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS)}").fetchall()
    foreign.close()
    path.chmod(0o644)
    before = path.read_bytes()
    with pytest.raises(ForeignStore, match="another program"):
        await opened(path)
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path):
    path = tmp_path / "text.db"
    path.write_text("not a database at all, but long enough to look at" * 100)
    path.chmod(0o644)
    with pytest.raises(StoreCorrupt):
        await opened(path)
    assert path.read_text().startswith("not a database")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


async def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path):
    with pytest.raises(StorageUnavailable):
        await opened(tmp_path)


async def test_a_newer_schema_is_refused(tmp_path: Path):
    path = tmp_path / "memories.db"
    await (await opened(path)).close()
    newer = apsw.Connection(str(path))
    newer.execute("PRAGMA user_version = 99").fetchall()
    newer.close()
    with pytest.raises(SchemaTooNew, match=r"version 99.*upgrade"):
        await opened(path)


async def test_an_older_file_is_migrated_and_keeps_its_memories(tmp_path: Path):
    path = tmp_path / "memories.db"
    store = await opened(path)
    await store_one(store, embedded("fact", "tag"))
    await store.close()
    raw = connection.connect(path, read_only=False)
    later = schema.Migration("ALTER TABLE memories ADD COLUMN colour TEXT;")
    schema.prepare(raw, path, "m", 4, indexed_text, (*schema.MIGRATIONS, later))
    assert schema.schema_version(raw) == len(schema.MIGRATIONS) + 1
    assert raw.execute("SELECT content, colour FROM memories").get == ("fact", None)
    raw.close()


async def test_a_failed_migration_changes_nothing(tmp_path: Path):
    path = tmp_path / "memories.db"
    await (await opened(path)).close()
    raw = connection.connect(path, read_only=False)
    broken = (*schema.MIGRATIONS, schema.Migration("CREATE TABLE half (x); CREATE TABLE half (x);"))
    with pytest.raises(apsw.SQLError):
        schema.prepare(raw, path, "m", 4, indexed_text, broken)
    assert schema.schema_version(raw) == len(schema.MIGRATIONS)
    assert raw.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").get == 0
    raw.close()


def test_an_sqlite_with_known_corruption_is_refused(monkeypatch: pytest.MonkeyPatch):
    connection.require_safe_sqlite()
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.53.9")
    with pytest.raises(EngineTooOld, match=r"3\.54\.0 or newer"):
        connection.require_safe_sqlite()


async def test_the_text_index_follows_every_change(tmp_path: Path):
    path = tmp_path / "memories.db"
    store = await opened(path)
    await store_one(store, embedded("the tunnel works"))
    await store_one(store, embedded("another thing"))
    raw = connection.connect(path, read_only=False)

    def matches(word: str) -> int:
        raw.execute("INSERT INTO memory_text (memory_text, rank) VALUES ('integrity-check', 1)")
        return raw.execute("SELECT count(*) FROM memory_text WHERE memory_text MATCH ?", (f'words : "{word}"',)).get

    assert matches("tunnel") == 1
    await store.delete("default", content_hash("the tunnel works"))
    assert matches("tunnel") == 0
    assert matches("anoth") == 1
    raw.close()
    await store.close()


async def test_a_failing_write_leaves_no_transaction_behind(tmp_path: Path):
    store = await opened(tmp_path / "memories.db")

    def fail(connection: apsw.Connection) -> None:
        connection.execute("DELETE FROM memory_tags")
        raise RuntimeError("on purpose")

    await store_one(store, embedded("a", "t"))
    with pytest.raises(RuntimeError, match="on purpose"):
        await store.connections.write(fail)
    assert [tag.tag for tag in await store.get_all_tags("default")] == ["t"]
    await store_one(store, embedded("b"))
    await store.close()


async def test_a_file_that_was_deleted_or_replaced_takes_no_more_writes(tmp_path: Path):
    path = tmp_path / "memories.db"
    store = await opened(path)
    await store_one(store, embedded("a"))
    path.rename(tmp_path / "moved.db")
    with pytest.raises(StorageUnavailable, match="moved, deleted or replaced"):
        await store_one(store, embedded("b"))
    with pytest.raises(StorageUnavailable):
        await store.check_search()
    path.write_text("")
    with pytest.raises(StorageUnavailable):
        await store_one(store, embedded("b"))
    await store.close()


async def test_a_log_whose_database_was_moved_away_is_not_thrown_away(tmp_path: Path):
    path, moved = tmp_path / "memories.db", tmp_path / "moved.db"
    store = await opened(path)
    await store_one(store, embedded("only in the log"))
    path.rename(moved)
    with pytest.raises(StoreRefused, match=r"memories.db-wal.*gone"):
        await opened(path)
    assert not path.exists()
    moved.rename(path)
    again = await opened(path)
    assert await again.count_all_memories("default") == 1
    await again.close()
    await store.close()


async def test_a_file_of_the_first_version_gets_its_words(tmp_path: Path):
    path = tmp_path / "memories.db"
    connection.create_store_file(path)
    raw = connection.connect(path, read_only=False)
    schema.prepare(raw, path, "m", 4, indexed_text, schema.MIGRATIONS[:1])
    raw.execute(
        "INSERT INTO memories (namespace, content_hash, created_at, updated_at, metadata, content)"
        " VALUES ('default', ?, 1, 1, '{}', 'the old tunnel')",
        (content_hash("the old tunnel"),),
    )
    raw.close()
    store = await opened(path)
    found = (await store.search_by_text(query_terms("tunnels"), 10, MemoryFilter())).candidates
    assert [candidate.content_hash for candidate in found] == [content_hash("the old tunnel")]
    await store.close()


async def test_every_table_is_described(tmp_path: Path):
    await (await opened(tmp_path / "memories.db")).close()
    raw = connection.connect(tmp_path / "memories.db", read_only=True)
    rows = raw.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
    there = {str(name) for name, kind in rows if kind != "shadow" and not str(name).startswith("sqlite_")}
    assert [table.name for table in TABLES if table.name not in there] == []
    assert there == {table.name for table in TABLES}
    referring = {
        (table, str(key[3])): str(key[2])
        for table in there
        for key in raw.execute(f"PRAGMA foreign_key_list({table})").fetchall()
    }
    assert {owned for owned, parent in referring.items() if parent == "memories"} == set(OWNED)
    raw.close()


async def test_a_request_whose_key_cannot_be_kept_is_not_carried_out(tmp_path: Path):
    store = await opened(tmp_path / "memories.db")
    await store_one(store, embedded("a"))
    request = IdempotencyKey("key", "delete a", 1)
    raw = connection.connect(tmp_path / "memories.db", read_only=False)
    raw.execute("CREATE TRIGGER failing BEFORE INSERT ON idempotency_keys BEGIN SELECT RAISE(ABORT, 'on purpose'); END")
    with pytest.raises(apsw.ConstraintError, match="on purpose"):
        await store.delete("default", content_hash("a"), request)
    raw.execute("DROP TRIGGER failing")
    raw.close()
    assert await get_one(store, "default", content_hash("a")) is not None
    assert await store.delete("default", content_hash("a"), request)
    await store.close()


async def test_two_processes_worth_of_stores_see_each_others_tags(tmp_path: Path):
    one, other = await opened(tmp_path / "memories.db"), await opened(tmp_path / "memories.db")
    before = await other.tags_version("default")
    await store_one(one, embedded("a", "new"))
    changed = await other.tags_version("default")
    assert changed != before
    await store_one(one, embedded("b", "new"))
    assert await other.tags_version("default") == changed
    await one.close()
    await other.close()


async def test_a_locked_store_waits_and_then_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "memories.db"
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MILLISECONDS", 30)
    store = await opened(path)
    blocker = connection.connect(path, read_only=False)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailable, match="locked by another process"):
        await store_one(store, embedded("a"))
    blocker.execute("ROLLBACK")
    assert (await store_one(store, embedded("a"))).created
    blocker.close()
    await store.close()
