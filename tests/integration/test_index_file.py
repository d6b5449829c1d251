"""The file of an index as others may leave it: cut, overwritten, malformed. Searches stay right, and say so."""

import asyncio
import json
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.conftest import Finished, server_process
from tests.large_stores import found_by_words, large_store, live, memories_in_file, opened
from tests.support.index_ready import wait_for_index

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.ports import Snapshot
from mcp_memory_service.storage.sqlite_vec import StoreUpkeep
from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.index import index_file
from mcp_memory_service.storage.sqlite_vec.index.build.build import build
from mcp_memory_service.storage.sqlite_vec.index.format.segment_file import MAGIC, Unusable, read_segment_file
from mcp_memory_service.storage.sqlite_vec.index.live.segments import Segments


def silent(*_: object) -> None:
    pass


def cut(file: Path) -> None:
    os.truncate(file, 100)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def overwritten(file: Path) -> None:
    with file.open("r+b") as opened_file:
        opened_file.write(bytes(file.stat().st_size))


def overwritten_unseen(file: Path) -> None:
    """With the time of its last change put back."""
    before = file.stat()
    overwritten(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def another_in_its_place(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(b"something else")
    other.replace(file)


@pytest.mark.parametrize("spoil", [cut, emptied, overwritten, overwritten_unseen])
async def test_a_file_that_somebody_writes_to_is_not_read_on(tmp_path: Path, spoil: Callable[[Path], None]):
    path = await large_store(tmp_path)
    store = await opened(path)
    await store.wait_ready()
    expected = await found_by_words(store, "topic3")
    assert (live(store).is_in_use, len(expected)) == (True, 9)
    spoil(index_file(path))
    assert await found_by_words(store, "topic3") == expected
    assert store.degraded == ("index_building",)
    await store.wait_ready()
    assert (live(store).is_in_use, store.degraded, memories_in_file(path)) == (True, (), 60)
    assert await found_by_words(store, "topic3") == expected
    await store.close()


async def test_a_file_that_was_replaced_or_removed_stays_in_use_by_who_has_it(tmp_path: Path):
    path = await large_store(tmp_path)
    store = await opened(path)
    await store.wait_ready()
    for spoil in (another_in_its_place, Path.unlink):
        spoil(index_file(path))
        assert len(await found_by_words(store, "topic3")) == 9
        assert (live(store).is_in_use, store.degraded) == (True, ())
    await store.close()


async def test_what_is_spoilt_while_it_is_searched_is_searched_again(tmp_path: Path):
    path = await large_store(tmp_path)
    store = await opened(path)
    await store.wait_ready()
    spoilt: list[Path] = []

    async def search(snapshot: Snapshot) -> int:
        if not spoilt:
            overwritten(index_file(path))
            spoilt.append(path)
        return await snapshot.reads.count_all_memories("default")

    assert await store.search(search) == 60
    assert store.degraded == ("index_building",)
    await store.close()


def test_a_server_survives_its_index(tmp_path: Path):
    with server_process(tmp_path, MCP_MEMORY_SEARCH_INDEX_MIN_MEMORIES="50") as server:
        memories = [{"content": f"memory {number} of otters"} for number in range(60)]
        assert server.http.post("/memories/batch", json={"memories": memories}).status_code == 200
        for spoil in (cut, overwritten, emptied):
            wait_for_index(server.http, tmp_path / "server.db")
            spoil(tmp_path / "server.db-index")
            found = server.http.post("/memories/retrieve", json={"query": "memory 7 of otters"}).json()
            assert (found["total"], found["degraded"]) == (60, ["index_building"])
        assert server.process.poll() is None


@pytest.fixture(scope="module")
def whole_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = asyncio.run(large_store(tmp_path_factory.mktemp("whole")))
    connection = connect(path, read_only=True)
    build(connection, index_file(path))
    connection.close()
    return index_file(path).read_bytes()


PATIENT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)


@PATIENT
@given(data=st.data())
def test_a_file_with_other_bytes_is_unusable_and_nothing_else(whole_file: bytes, tmp_path: Path, data: st.DataObject):
    spoilt = bytearray(whole_file)
    for _ in range(data.draw(st.integers(1, 4))):
        head_or_all = data.draw(st.sampled_from([24, len(spoilt)]))
        spoilt[data.draw(st.integers(0, head_or_all - 1))] = data.draw(st.integers(0, 255))
    spoilt = spoilt[: data.draw(st.one_of(st.just(len(spoilt)), st.integers(0, len(spoilt))))]
    file = tmp_path / "index"
    file.write_bytes(spoilt)
    if bytes(spoilt) == whole_file:
        read_segment_file(file)
        return
    with suppress(Unusable):  # bytes between columns mean nothing
        Segments(read_segment_file(file))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5)
    | st.sampled_from(["O", "<f8", "|V0", "<M8[s]", "<i8", -1, 2**63, 10**30]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@PATIENT
@given(data=st.data())
def test_a_listing_that_says_anything_is_unusable_and_nothing_else(
    whole_file: bytes, tmp_path: Path, data: st.DataObject
):
    start = int.from_bytes(whole_file[len(MAGIC) : len(MAGIC) + 8], "little")
    listing = json.loads(whole_file[start:])
    inside = data.draw(st.sampled_from([listing, listing["header"], *listing["columns"]]))
    key = data.draw(st.sampled_from(sorted(inside)))
    if data.draw(st.booleans()):
        inside[key] = data.draw(JSON_VALUES)
    else:
        del inside[key]
    file = tmp_path / "index"
    file.write_bytes(_sealed(whole_file[:start], json.dumps(listing).encode()))
    with suppress(Unusable):
        Segments(read_segment_file(file))


@pytest.mark.parametrize("text", [b"", b"[" * 100_000, b"null", b'"' + b"9" * 5_000, b"9" * 5_000, b"\xff"])
def test_a_listing_that_is_none_is_unusable(whole_file: bytes, tmp_path: Path, text: bytes):
    start = int.from_bytes(whole_file[len(MAGIC) : len(MAGIC) + 8], "little")
    (tmp_path / "index").write_bytes(_sealed(whole_file[:start], text))
    with pytest.raises(Unusable):
        read_segment_file(tmp_path / "index")


def _sealed(columns: bytes, listing: bytes) -> bytes:
    head = MAGIC + len(columns).to_bytes(8, "little") + zlib.crc32(listing).to_bytes(8, "little")
    return head + columns[len(head) :] + listing


async def test_doctor_warns_of_an_index_that_cannot_be_used_and_makes_way_for_another(
    tmp_path: Path, run_cli: Callable[..., Finished]
):
    path = await large_store(tmp_path)
    store = await opened(path)
    await store.wait_ready()
    await store.close()
    assert StoreUpkeep(path, indexed_text, silent).inspect().warnings == ()
    overwritten(index_file(path))
    told = json.loads(run_cli("doctor", "--json", MCP_MEMORY_SQLITE_PATH=str(path)).out)
    assert (told["sound"], [each["code"] for each in told["warnings"]]) == (True, ["search_index_unusable"])
    warned = run_cli("doctor", MCP_MEMORY_SQLITE_PATH=str(path))
    assert (warned.code, "Warning: " in warned.out, "Sound." in warned.out) == (0, True, True)
    mended = run_cli("doctor", "--repair", "--json", MCP_MEMORY_SQLITE_PATH=str(path))
    told = json.loads(mended.out)
    assert (mended.code, told["warnings"], told["repaired"]) == (0, [], ["search_index_unusable"])
    assert not index_file(path).exists()


async def test_doctor_warns_of_an_index_of_another_store(tmp_path: Path):
    (tmp_path / "other").mkdir()
    paths = [await large_store(tmp_path), await large_store(tmp_path / "other")]
    for path in paths:
        store = await opened(path)
        await store.wait_ready()
        await store.close()
    index_file(paths[1]).replace(index_file(paths[0]))
    found = StoreUpkeep(paths[0], indexed_text, silent).inspect()
    assert (found.sound, [each.code for each in found.warnings]) == (True, ["search_index_outdated"])
