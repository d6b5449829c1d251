"""A file that somebody else had a hand in is refused, before anything in it can run."""

import gzip
import hashlib
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import apsw
import pytest
from tests.support.fakes import WordEmbedder

from mcp_memory_service.errors import ForeignStore
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory, Memory, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep
from mcp_memory_service.storage.sqlite_vec.file.connection import connect, open_database
from mcp_memory_service.storage.sqlite_vec.schema import BACKUP_MARK
from mcp_memory_service.storage.sqlite_vec.upkeep.backups import read_manifest

STORES = Path(__file__).parent.parent / "data" / "stores"
COPY_TO = "UPDATE memories SET metadata = '{}' WHERE id = new.id;"
HOSTILE = {
    "trigger": [f"CREATE TRIGGER theirs AFTER INSERT ON memories BEGIN {COPY_TO} END"],
    "view": ["CREATE VIEW theirs AS SELECT content FROM memories"],
    "table": ["CREATE TABLE theirs (x)"],
    "index": ["CREATE INDEX theirs ON memories (hex(content))"],
    "trigger of ours with another body": [
        "DROP TRIGGER memories_added",
        f"CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN {COPY_TO} END",
    ],
    "table of ours as a view": ["DROP TABLE tunings", "CREATE VIEW tunings AS SELECT 1 AS version"],
}


def silent(*_: object) -> None:
    pass


async def opened(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)


async def new_store(path: Path) -> Path:
    store = await opened(path)
    await store.store_batch([EmbeddedMemory(Memory("a", content_hash("a"), 1, 1), (WordEmbedder.vector("a"),))])
    await store.close()
    return path


def change(database: Path, statements: Sequence[str]) -> None:
    with closing(apsw.Connection(str(database))) as raw:
        for statement in statements:
            raw.execute(statement)


def upkeep(path: Path) -> StoreUpkeep:
    return StoreUpkeep(path, indexed_text, silent)


def resealed(backup: Path, statements: Sequence[str]) -> None:
    """As somebody would change it who knows how a backup ends."""
    manifest = read_manifest(backup, silent)
    with backup.open("r+b") as file:
        file.truncate(manifest.database_bytes)
    change(backup, statements)
    text = json.dumps(asdict(manifest) | {"database_bytes": backup.stat().st_size}).encode()
    sealed = backup.read_bytes() + text + len(text).to_bytes(8, "big")
    backup.write_bytes(sealed + hashlib.sha256(sealed).digest() + BACKUP_MARK)


@pytest.mark.parametrize("statements", HOSTILE.values(), ids=HOSTILE.keys())
async def test_a_store_with_parts_of_others_is_refused(tmp_path: Path, statements: Sequence[str]):
    path = await new_store(tmp_path / "store.db")
    change(path, statements)
    with pytest.raises(ForeignStore, match="not of this program"):
        await opened(path)
    with pytest.raises(ForeignStore, match="not of this program"):
        await SqliteVecStorage.open_existing(path, indexed_text)
    found = upkeep(path).inspect()
    assert {finding.code for finding in found.findings} <= {"schema_foreign", "schema_changed"}
    assert not found.sound
    assert not any(finding.rebuildable for finding in found.findings)


@pytest.mark.parametrize("statements", HOSTILE.values(), ids=HOSTILE.keys())
async def test_a_backup_with_parts_of_others_is_refused_and_the_store_stays_as_it_is(
    tmp_path: Path, statements: Sequence[str]
):
    path = await new_store(tmp_path / "store.db")
    backup, _ = upkeep(path).back_up(tmp_path / "a.backup")
    resealed(backup, statements)
    before = path.read_bytes()
    with pytest.raises(ForeignStore, match="not of this program"):
        upkeep(path).restore(backup)
    assert path.read_bytes() == before
    with pytest.raises(ForeignStore, match="not of this program"):
        upkeep(tmp_path / "new.db").restore(backup)
    assert not upkeep(backup).inspect().sound


@pytest.mark.parametrize("version", range(1, 6))
async def test_nothing_runs_when_an_earlier_store_with_a_trigger_of_others_is_opened(tmp_path: Path, version: int):
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress((STORES / f"version_{version}.db.gz").read_bytes()))
    spy = "CREATE TRIGGER memories_counted AFTER INSERT ON store_info BEGIN DELETE FROM memories; END"
    change(path, [spy])
    with closing(apsw.Connection(str(path))) as raw:
        memories = raw.execute("SELECT count(*) FROM memories").get
    with pytest.raises(ForeignStore, match="memories_counted"):
        await SqliteVecStorage.open_existing(path, indexed_text)
    assert [finding.code for finding in upkeep(path).inspect().findings] == ["schema_foreign"]
    with closing(apsw.Connection(str(path))) as raw:
        assert raw.execute("SELECT count(*) FROM memories").get == memories > 0
        assert raw.execute("PRAGMA user_version").get == version


async def test_statistics_of_sqlite_are_nobody_elses(tmp_path: Path):
    path = await new_store(tmp_path / "store.db")
    change(path, ["ANALYZE"])
    await (await opened(path)).close()
    assert upkeep(path).inspect().sound


async def test_no_connection_trusts_what_is_in_the_file(tmp_path: Path):
    path = await new_store(tmp_path / "store.db")
    for connection in (connect(path, read_only=True), connect(path, read_only=False), open_database(path)):
        with closing(connection):
            assert connection.execute("PRAGMA trusted_schema").get == 0
            assert connection.execute("PRAGMA cell_size_check").get == 1
            assert connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1
            with pytest.raises(apsw.SQLError, match="may not be modified"):
                connection.execute("PRAGMA writable_schema = on; DELETE FROM sqlite_schema").fetchall()
