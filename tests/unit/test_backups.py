"""A backup is verified when it is made and before it is put back, and nothing is overwritten without a copy."""

import os
import random
from pathlib import Path

import apsw
import pytest
from tests.contract.memories import memory
from tests.reliability.oracle import problems_of, unseen
from tests.support.fakes import WordEmbedder
from tests.support.one_memory import get_one, store_one
from tests.support.whole_stores import assert_equal, contents, notes

from mcp_memory_service.errors import (
    BackupDamaged,
    ForeignStore,
    InvalidInput,
    SchemaTooNew,
    StorageUnavailable,
    StoreCorrupt,
    StoreRefused,
)
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep, schema
from mcp_memory_service.storage.sqlite_vec.file.connection import connect, create_store_file
from mcp_memory_service.storage.sqlite_vec.upkeep import restore as restoring


async def opened(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)


def care_for(path: Path) -> StoreUpkeep:
    return StoreUpkeep(path, indexed_text, unseen)


def note(content: str, *tags: str) -> EmbeddedMemory:
    return EmbeddedMemory(memory(content, *tags), (WordEmbedder.vector(content),))


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "memories.db"
    store = await opened(path)
    await store.store_batch(notes(30))
    await store.close()
    return path


@pytest.fixture
def backup(path: Path, tmp_path: Path) -> Path:
    made, manifest = care_for(path).back_up(tmp_path / "copies" / "a.backup")
    assert (manifest.memories, manifest.vectors) == (30, 45)
    return made


async def test_what_was_backed_up_is_what_is_restored(path: Path, backup: Path, tmp_path: Path):
    target = tmp_path / "elsewhere" / "restored.db"
    assert care_for(target).restore(backup).copy is None
    assert problems_of(target) == []
    before, after = await opened(path), await opened(target)
    assert_equal(await contents(before), await contents(after))
    await before.close()
    await after.close()


def test_a_backup_is_private_and_alone(backup: Path):
    assert [file.name for file in backup.parent.iterdir()] == [backup.name]
    assert backup.stat().st_mode & 0o077 == 0


def test_a_backup_can_be_opened_as_a_database(backup: Path):
    connection = apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.execute("SELECT count(*) FROM memories").get == 30
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()


def test_a_folder_gets_a_file_with_the_time_in_its_name(path: Path, tmp_path: Path):
    folder = tmp_path / "copies"
    folder.mkdir()
    made = {care_for(path).back_up(folder)[0] for _ in range(2)}
    assert set(folder.iterdir()) == made
    assert all(file.name.startswith("memories-20") for file in made)


def test_a_backup_overwrites_nothing(path: Path, backup: Path):
    before = backup.read_bytes()
    with pytest.raises(InvalidInput, match="exists already"):
        care_for(path).back_up(backup)
    assert backup.read_bytes() == before


async def test_an_unsound_store_is_not_backed_up(path: Path, tmp_path: Path):
    raw = connect(path, read_only=False)
    raw.execute("UPDATE memories SET content = 'another' WHERE id = 3")
    raw.close()
    with pytest.raises(StoreCorrupt, match="doctor"):
        care_for(path).back_up(tmp_path / "b.backup")
    assert [file.name for file in tmp_path.iterdir() if "backup" in file.name] == []


async def test_open_handles_see_the_restored_memories_with_their_next_query(path: Path, backup: Path):
    one, other = await opened(path), await opened(path)
    await store_one(one, note("written later", "later"))
    version = await other.tags_version("default")
    restored = care_for(path).restore(backup)
    assert await other.count_all_memories("default") == 24
    assert await other.tags_version("default") != version
    assert (await store_one(one, note("after the restore"))).created
    assert await other.count_all_memories("default") == 25
    assert problems_of(path) == []

    assert restored.copy is not None
    care_for(path).restore(restored.copy)
    found = {kept.content for kept, _ in (await contents(other)).values()}
    assert "written later" in found
    assert "after the restore" not in found
    await one.close()
    await other.close()


async def test_a_store_that_is_not_sound_is_kept_as_it_is_and_handles_go_on(path: Path, backup: Path):
    store = await opened(path)
    raw = connect(path, read_only=False)
    raw.execute("UPDATE memories SET content = 'another' WHERE id = 3")
    raw.close()
    restored = care_for(path).restore(backup)
    assert problems_of(path) == []
    assert restored.copy is not None
    assert [problem.split(":")[0] for problem in problems_of(restored.copy)] == ["content_changed"]
    assert (await store_one(store, note("after the restore"))).created
    await store.close()


async def test_a_link_to_a_store_stays_a_link(path: Path, backup: Path, tmp_path: Path):
    link = tmp_path / "links" / "memories.db"
    link.parent.mkdir()
    link.symlink_to(path)
    path.write_bytes(b"damaged\0" * 5_000)
    restored = care_for(link).restore(backup)
    assert link.is_symlink()
    assert problems_of(path) == []
    assert restored.copy is not None
    assert restored.copy.parent == path.parent
    store = await opened(link)
    await store_one(store, note("through the link"))
    assert not (link.parent / "memories.db-turn").exists(), "one queue for both names"
    await store.close()


async def test_a_damaged_store_is_moved_aside_and_replaced(path: Path, backup: Path):
    damaged = bytearray(path.read_bytes())
    damaged[:8192] = b"\x00" * 8192
    path.write_bytes(damaged)
    assert problems_of(path) != []
    restored = care_for(path).restore(backup)
    assert problems_of(path) == []
    assert restored.copy is not None
    assert restored.copy.read_bytes() == bytes(damaged)


def test_a_database_of_another_program_is_not_restored_over(backup: Path, tmp_path: Path):
    target = tmp_path / "foreign.db"
    foreign = apsw.Connection(str(target))
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    before = target.read_bytes()
    with pytest.raises(ForeignStore):
        care_for(target).restore(backup)
    assert target.read_bytes() == before


def test_a_store_or_another_file_is_no_backup(path: Path, backup: Path, tmp_path: Path):
    target = tmp_path / "new.db"
    text = tmp_path / "text"
    text.write_text("not a backup")
    for file, error in ((path, BackupDamaged), (text, ForeignStore), (tmp_path / "none", StoreRefused)):
        with pytest.raises(error):
            care_for(target).restore(file)
    assert not target.exists()


@pytest.mark.parametrize("missing", [1, 8, 100, 5_000, 100_000])
def test_a_backup_that_was_cut_short_is_refused(backup: Path, tmp_path: Path, missing: int):
    cut = tmp_path / "cut.backup"
    cut.write_bytes(backup.read_bytes()[:-missing])
    with pytest.raises(BackupDamaged):
        care_for(tmp_path / "new.db").restore(cut)


async def test_a_store_of_an_older_version_is_backed_up_as_it_is_and_brought_up_to_date_when_restored(tmp_path: Path):
    old = tmp_path / "old.db"
    create_store_file(old)
    raw = connect(old, read_only=False)
    schema.prepare(raw, old, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text, schema.MIGRATIONS[:3])
    raw.close()
    made, manifest = care_for(old).back_up(tmp_path / "old.backup")
    assert manifest.schema_version == 3
    target = tmp_path / "new.db"
    care_for(target).restore(made)
    assert problems_of(target) == []
    raw = connect(target, read_only=True)
    assert schema.schema_version(raw) == len(schema.MIGRATIONS)
    raw.close()


def test_a_store_of_a_newer_version_is_neither_inspected_nor_replaced(path: Path, backup: Path):
    raw = connect(path, read_only=False)
    raw.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}").fetchall()
    raw.close()
    for refused in (care_for(path).inspect, lambda: care_for(path).restore(backup)):
        with pytest.raises(SchemaTooNew, match="upgrade"):
            refused()


def test_whatever_bit_is_flipped_the_store_is_told_of_and_restored(path: Path, backup: Path, tmp_path: Path):
    whole = path.read_bytes()
    chance = random.Random(1)
    places = [*range(100), *(chance.randrange(100, len(whole)) for _ in range(80))]
    for place in places:
        for file in tmp_path.glob("memories.db*"):
            file.unlink()
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            sound = care_for(path).inspect().sound
        except StoreRefused:  # its mark or its version was hit, so that it seems not to be ours, or newer
            continue
        care_for(path).restore(backup)
        assert problems_of(path) == [], (place, sound)


async def test_text_that_is_none_is_told_of_and_can_be_deleted(path: Path):
    raw = connect(path, read_only=False)
    raw.execute("UPDATE memories SET content = CAST(x'ff' || content AS TEXT) WHERE id = 3")
    hash_of_it = raw.execute("SELECT content_hash FROM memories WHERE id = 3").get
    raw.close()
    assert [problem.split(":")[0] for problem in problems_of(path)] == ["content_changed"]
    store = await opened(path)
    with pytest.raises(StoreCorrupt):
        await get_one(store, "default", hash_of_it)
    assert await store.delete("default", hash_of_it)
    assert problems_of(path) == []
    await store.close()


async def test_a_head_that_is_destroyed_makes_a_new_file_and_open_handles_say_so(path: Path, backup: Path):
    store = await opened(path)
    path.write_bytes(b"\xff" * 200 + path.read_bytes()[200:])
    restored = care_for(path).restore(backup)
    assert restored.copy is not None
    assert restored.copy.read_bytes()[:200] == b"\xff" * 200
    assert problems_of(path) == []
    for use in (store.count_all_memories("default"), store_one(store, note("x")), store.check_search()):
        with pytest.raises(StorageUnavailable, match="restart"):
            await use
    await store.close()
    assert problems_of(path) == []


def test_a_copy_that_a_killed_process_left_behind_is_removed_after_a_day(path: Path, tmp_path: Path):
    forgotten = tmp_path / ".memories.db.0123456789abcdef.part"
    forgotten.write_text("private")
    os.utime(forgotten, (1, 1))
    other = tmp_path / ".something.part"
    other.write_text("not ours")
    os.utime(other, (1, 1))
    care_for(path).back_up(tmp_path / "b.backup")
    assert not forgotten.exists()
    assert other.exists()


def test_a_backup_of_a_newer_version_is_refused(backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(restoring, "MIGRATIONS", schema.MIGRATIONS[:-1])
    with pytest.raises(SchemaTooNew, match="upgrade"):
        care_for(tmp_path / "new.db").restore(backup)
    assert not (tmp_path / "new.db").exists()


async def test_text_is_not_restored_over_and_an_open_file_is_closed_to_others(backup: Path, tmp_path: Path):
    text = tmp_path / "thesis.txt"
    text.write_text("years of work " * 100)
    with pytest.raises(ForeignStore, match="no memory store"):
        care_for(text).restore(backup)
    assert text.read_text().startswith("years of work")
    empty = tmp_path / "empty.db"
    empty.touch(mode=0o644)
    care_for(empty).restore(backup)
    assert empty.stat().st_mode & 0o077 == 0


async def test_a_handle_of_another_model_refuses_what_was_restored_under_it(backup: Path, tmp_path: Path):
    target = tmp_path / "other.db"
    other = await SqliteVecStorage.open(target, "another-model", 64, indexed_text)
    care_for(target).restore(backup)
    for use in (store_one(other, note("wrong vectors")), other.check_search(), other.check_write()):
        with pytest.raises(StoreRefused, match="restart"):
            await use
    await other.close()
    assert problems_of(target) == []
