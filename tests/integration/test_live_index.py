"""The index of a large store comes by itself, is never trusted over the rows, and goes when it must."""

import asyncio
import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.large_stores import (
    DIMENSION,
    EVERYTHING,
    LARGE,
    MODEL_ID,
    found_by_words,
    item,
    large_store,
    live,
    memories_in_file,
    opened,
    until,
)
from tests.support.one_memory import store_one

from mcp_memory_service.errors import StorageUnavailable
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import MemoryPatch
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep
from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.index import index_file
from mcp_memory_service.storage.sqlite_vec.index.build.build import build
from mcp_memory_service.storage.sqlite_vec.index.format.segment_file import Unusable, read_segment_file


async def indexed(path: Path) -> SqliteVecStorage:
    """A store that answers from its index."""
    store = await opened(path)
    async with asyncio.timeout(60):
        await store.wait_ready()
    assert live(store).is_in_use
    return store


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await large_store(tmp_path)


def _silent(*_: object) -> None:
    pass


async def test_a_large_store_is_searched_exactly_until_its_index_is_there(path: Path):
    store = await opened(path)
    await until(lambda: store.degraded == ("index_building",))
    before = list(await store.retrieve(item(3).vectors[0], 5, EVERYTHING))
    await store.wait_ready()
    assert live(store).is_in_use
    assert list(await store.retrieve(item(3).vectors[0], 5, EVERYTHING)) == before
    assert store.degraded == ()
    await store.close()


async def test_the_file_of_an_index_is_used_again(path: Path):
    await (await indexed(path)).close()
    written = index_file(path).stat().st_mtime_ns
    store = await indexed(path)
    assert index_file(path).stat().st_mtime_ns == written
    await store.close()


async def test_the_file_of_an_index_is_for_its_owner_alone_and_has_no_words(path: Path):
    await (await indexed(path)).close()
    assert index_file(path).stat().st_mode & 0o077 == 0
    assert b"topic" not in index_file(path).read_bytes()


async def test_what_another_process_writes_and_deletes_is_seen_by_the_next_search(path: Path):
    store, other = await indexed(path), await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, indexed_text)
    gone, changed = item(0).memory, item(1).memory
    new = item(1000, "a kestrel above the field")
    await store_one(other, new)
    await other.delete("default", gone.content_hash)
    await other.update("default", changed.content_hash, MemoryPatch(tags=("falcon",)), now=9)
    assert await found_by_words(store, "kestrel falcon") == {new.memory.content_hash, changed.content_hash}
    assert gone.content_hash not in await found_by_words(store, "note")
    nearest = await store.retrieve(item(0).vectors[0], 1000, EVERYTHING)
    assert gone.content_hash not in {hit.content_hash for hit in nearest}
    assert live(store).is_in_use
    await other.close()
    await store.close()


async def test_more_changes_than_a_search_takes_in_are_taken_in_behind_it(path: Path):
    store = await indexed(path)
    await store.store_batch([item(number, f"late {number}") for number in range(1000, 1600)])
    assert len(await found_by_words(store, "late")) == 600
    assert store.degraded == ("index_building",)
    await store.wait_ready()
    assert store.degraded == ()
    assert len(await found_by_words(store, "late")) == 600
    await store.close()


async def test_an_index_with_much_outside_of_its_file_is_built_anew(path: Path):
    store = await indexed(path)
    for start in range(1000, 6000, 500):
        await store.store_batch([item(number, f"late {number}") for number in range(start, start + 500)])
        await found_by_words(store, "late")
    await store.wait_ready()
    assert memories_in_file(path) > LARGE + 4000
    assert not live(store).is_worth_rebuilding
    assert len(await found_by_words(store, "late")) == 1000  # as many as were asked for
    assert await store.count_all_memories("default") == LARGE + 5000
    await store.close()


async def test_what_is_outside_of_the_file_gets_into_it_when_nothing_more_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mcp_memory_service.storage.sqlite_vec.index.live.lifecycle.CHECKED_EVERY_SECONDS", 0.05)
    store = await opened(path, quiet_seconds=0.2)
    await store.wait_ready()
    first = read_segment_file(index_file(path)).header.position
    await store.store_batch([item(number, f"late {number}") for number in range(1000, 1900)])
    await asyncio.sleep(0.5)
    assert read_segment_file(index_file(path)).header.position == first  # too few to be worth it
    await store.store_batch([item(number, f"late {number}") for number in range(1900, 2200)])
    await until(lambda: read_segment_file(index_file(path)).header.position != first)
    await until(lambda: not live(store).is_worth_rebuilding)
    assert memories_in_file(path) == LARGE + 1200
    assert len(await found_by_words(store, "late")) == 1000  # as many as were asked for
    await store.close()


@pytest.mark.parametrize("place", [0, 10, 200, -200, -1])
async def test_a_damaged_file_is_noticed_and_built_anew(path: Path, place: int):
    await (await indexed(path)).close()
    file = index_file(path)
    whole = bytearray(file.read_bytes())
    whole[place] ^= 0x10
    file.write_bytes(whole)
    with pytest.raises(Unusable):
        read_segment_file(file)
    store = await indexed(path)
    assert len(await found_by_words(store, "note")) == LARGE
    await store.close()
    read_segment_file(file)


async def test_a_file_that_is_cut_off_is_not_used(path: Path):
    await (await indexed(path)).close()
    file = index_file(path)
    whole = file.read_bytes()
    for cut_off in (b"", whole[:8], whole[:20], whole[: len(whole) // 2]):
        file.write_bytes(cut_off)
        with pytest.raises(Unusable):
            read_segment_file(file)


def rewrite_listing(file: Path, change: Callable[[Any], Any]) -> None:
    """What the file says of itself, changed, with the right checksum."""
    whole = file.read_bytes()
    start = int.from_bytes(whole[8:16], "little")
    listing = json.dumps(change(json.loads(whole[start:]))).encode()
    checksum = zlib.crc32(listing).to_bytes(8, "little")
    file.write_bytes(whole[:16] + checksum + whole[24:start] + listing)


def changed(part: str, **fields: Any) -> Callable[[Any], Any]:
    return lambda listing: listing | {part: listing[part] | fields}


def every_column(**fields: Any) -> Callable[[Any], Any]:
    return lambda listing: listing | {"columns": [each | fields for each in listing["columns"]]}


MALFORMED: dict[str, Callable[[Any], Any]] = {
    "an older format": lambda listing: listing | {"format": 2},
    "no format": lambda listing: {"header": listing["header"], "columns": listing["columns"]},
    "no object": lambda _: [],
    "no header": lambda listing: {"format": listing["format"], "columns": listing["columns"]},
    "a header that is a list": lambda listing: listing | {"header": []},
    "half a position": changed("header", position=[1]),
    "a position without numbers": changed("header", position=["one", None]),
    "no salt": changed("header", salt=None),
    "a salt of other letters": changed("header", salt="salt"),
    "no namespaces": changed("header", namespaces=None),
    "no columns": lambda listing: listing | {"columns": None},
    "one column less": lambda listing: listing | {"columns": listing["columns"][1:]},
    "a column of no type": every_column(type=None),
    "a column of objects": every_column(type="|O"),
    "a column beyond the end": every_column(start=2**40),
    "a column at no place": every_column(start=2**70),
    "a column of less than nothing": every_column(shape=[-1]),
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_file_of_an_older_format_or_with_a_malformed_header_is_not_used(
    path: Path, change: Callable[[Any], Any]
):
    with closing(connect(path, read_only=True)) as connection:
        build(connection, index_file(path))
    rewrite_listing(index_file(path), lambda listing: listing)
    read_segment_file(index_file(path))
    rewrite_listing(index_file(path), change)
    with pytest.raises(Unusable):
        read_segment_file(index_file(path))


async def test_a_file_of_an_older_format_is_built_anew(path: Path):
    await (await indexed(path)).close()
    rewrite_listing(index_file(path), MALFORMED["an older format"])
    store = await indexed(path)
    assert len(await found_by_words(store, "note")) == LARGE
    assert memories_in_file(path) == LARGE
    await store.close()


async def test_an_index_of_another_history_is_not_used(path: Path, tmp_path: Path):
    """A copy of the store goes its own way; then its index lands beside the first one."""
    copy = tmp_path / "copy.db"
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    for file, text in ((path, "ours alone"), (copy, "theirs alone")):
        store = await SqliteVecStorage.open(file, MODEL_ID, DIMENSION, indexed_text)
        await store_one(store, item(500, text))
        await store.close()
    await (await indexed(copy)).close()
    index_file(copy).rename(index_file(path))
    store = await indexed(path)
    assert len(await found_by_words(store, "ours")) == 1
    assert len(await found_by_words(store, "theirs")) == 0
    await store.close()


async def test_a_backup_that_is_put_back_is_what_is_searched(path: Path, tmp_path: Path):
    upkeep = StoreUpkeep(path, indexed_text, _silent)
    backup, _ = await asyncio.to_thread(upkeep.back_up, tmp_path / "one.backup")
    store = await indexed(path)
    await store_one(store, item(700, "stored after the backup"))
    assert len(await found_by_words(store, "backup")) == 1
    await asyncio.to_thread(upkeep.restore, backup)
    assert await found_by_words(store, "backup") == set()
    await store_one(store, item(701, "another one after the backup"))
    assert await found_by_words(store, "backup") == {item(701, "another one after the backup").memory.content_hash}
    await store.wait_ready()
    assert (live(store).is_in_use, store.degraded) == (True, ())
    assert len(await found_by_words(store, "backup")) == 1
    await store.close()


async def test_a_purge_takes_the_file_of_the_index_away(path: Path):
    await (await indexed(path)).close()
    store = await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, indexed_text)
    await store.purge("default", [item(0).memory.content_hash])
    assert not index_file(path).exists()
    await store.close()


async def test_a_purge_has_the_index_built_anew(path: Path):
    store = await indexed(path)
    await store.purge("default", [item(0).memory.content_hash])
    assert item(0).memory.content_hash not in await found_by_words(store, "note")
    await store.wait_ready()
    assert store.degraded == ()
    assert memories_in_file(path) == LARGE - 1
    await store.close()


async def test_where_no_index_can_be_built_the_rows_are_searched_and_it_is_said(path: Path):
    index_file(path).mkdir()  # nothing can be put in its place
    store = await opened(path)
    await until(lambda: store.degraded == ("index_unavailable",))
    assert len(await found_by_words(store, "note")) == LARGE
    waiting = asyncio.create_task(store.wait_ready())
    await asyncio.sleep(0)
    await store.close()
    for late in (waiting, store.wait_ready()):
        with pytest.raises(StorageUnavailable, match="closed"):
            await late


async def test_a_store_that_is_closed_while_its_index_is_built_leaves_nothing_behind(path: Path):
    store = await opened(path)
    await until(lambda: store.degraded == ("index_building",))
    await store.close()
    with pytest.raises(StorageUnavailable):
        await store.count_all_memories("default")
    assert not list(path.parent.glob(".*.segment"))


async def test_an_index_that_holds_what_a_restore_took_back_is_not_used(path: Path, tmp_path: Path):
    upkeep = StoreUpkeep(path, indexed_text, _silent)
    backup, _ = await asyncio.to_thread(upkeep.back_up, tmp_path / "one.backup")
    store = await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, indexed_text)
    await store.delete("default", item(3).memory.content_hash)
    await store.close()
    connection = connect(path, read_only=True)
    build(connection, index_file(path))
    connection.close()
    await asyncio.to_thread(upkeep.restore, backup)
    store = await indexed(path)
    assert len(await found_by_words(store, "note")) == LARGE
    assert await store.count_all_memories("default") == LARGE
    await store.close()


async def test_the_builder_runs_no_code_of_the_folder_it_is_started_in(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "secrets.py").write_text("raise SystemExit('somebody else ran')")
    monkeypatch.chdir(tmp_path)
    store = await indexed(path)
    assert store.degraded == ()
    await store.close()


async def test_an_index_that_cannot_be_built_anew_is_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("mcp_memory_service.storage.sqlite_vec.index.live.lifecycle.CHECKED_EVERY_SECONDS", 0.05)
    monkeypatch.setattr("mcp_memory_service.storage.sqlite_vec.index.live.lifecycle.FIRST_PAUSE_SECONDS", 0.5)
    store = await indexed(path)
    index_file(path).unlink()
    index_file(path).mkdir()  # nothing can be put in its place
    live(store).build_again()
    await store.wait_ready()
    assert "not built anew" in caplog.text
    assert len(await found_by_words(store, "note")) == LARGE
    assert (live(store).is_in_use, store.degraded) == (True, ())
    # Until it is tried again, changes are applied as before.
    await store.store_batch([item(number, f"late {number}") for number in range(1000, 1600)])
    assert len(await found_by_words(store, "late")) == 600
    await store.wait_ready()
    assert (live(store).is_in_use, store.degraded) == (True, ())
    index_file(path).rmdir()
    await until(index_file(path).is_file)
    await store.wait_ready()
    assert memories_in_file(path) == LARGE + 600
    await store.close()


async def test_a_store_that_has_become_small_needs_no_index(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("mcp_memory_service.storage.sqlite_vec.index.live.lifecycle.CHECKED_EVERY_SECONDS", 0.05)
    monkeypatch.setattr("mcp_memory_service.storage.sqlite_vec.index.live.segments.MIN_RENEWED", 10)
    store = await opened(path, quiet_seconds=0.1)
    await store.wait_ready()
    for number in range(LARGE):
        await store.delete("default", item(number).memory.content_hash)
    await until(lambda: not live(store).is_in_use)
    assert (await found_by_words(store, "note"), store.degraded) == (set(), ())
    assert "not built anew" not in caplog.text
    await store.close()
