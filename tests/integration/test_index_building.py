"""An index is built batch by batch while others write and search; who loads it has what the rows are in the end."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.large_stores import DIMENSION, EVERYTHING, LARGE, MODEL_ID, item, large_store

from mcp_memory_service.errors import StorageUnavailable
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import MemoryPatch
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep
from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.index import index_file
from mcp_memory_service.storage.sqlite_vec.index.build.build import AllRows, build
from mcp_memory_service.storage.sqlite_vec.index.build.build_process import is_current
from mcp_memory_service.storage.sqlite_vec.index.format.segment_file import read_segment_file
from mcp_memory_service.storage.sqlite_vec.index.live import catch_up
from mcp_memory_service.storage.sqlite_vec.index.live.catch_up import CurrentIndex
from mcp_memory_service.storage.sqlite_vec.index.live.segments import Segments
from mcp_memory_service.storage.sqlite_vec.index.source import Batch, Position, newest_position
from mcp_memory_service.storage.sqlite_vec.queries import reads, text_search
from mcp_memory_service.storage.sqlite_vec.queries.writes import delete_memory, patch_memory, store_memory


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await large_store(tmp_path)


def _silent(*_: object) -> None:
    pass


@pytest.fixture
def changes_while_building(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something done when 40 of the 60 memories were read."""

    def do(change: Callable[[], object]) -> None:
        all_batches = AllRows.batches

        def batches(rows: AllRows, _size: int) -> Iterator[Batch]:
            for number, batch in enumerate(all_batches(rows, 10)):
                yield batch
                if number == 3:
                    change()

        monkeypatch.setattr(AllRows, "batches", batches)

    return do


async def test_what_changes_while_an_index_is_built_is_read_again_and_nothing_else(
    path: Path, changes_while_building: Callable[[Callable[[], object]], None]
):
    reader, writer = connect(path, read_only=True), connect(path, read_only=False)

    def change() -> None:
        for number in (5, 6, 50):
            assert delete_memory(writer, "default", item(number).memory.content_hash)
        tagged = MemoryPatch(tags=("late",))
        for number in (7, 51):
            assert patch_memory(writer, "default", item(number).memory.content_hash, tagged, 1, indexed_text)
        for number in (60, 61):
            store_memory(writer, item(number).memory, item(number).vectors, indexed_text)

    changes_while_building(change)
    build(reader, index_file(path))
    segments = Segments(read_segment_file(index_file(path)))
    assert len(segments.changed_since) == 3  # 5, 6 and 7
    assert segments.position == newest_position(reader)
    current = CurrentIndex(lambda _: None)
    while current.apply_some(reader, segments):
        pass
    index = current.reader_for(reader)
    assert index is not None
    assert index.count_all_memories("default") == reads.count_all_memories(reader, "default") == LARGE - 3 + 2
    late = {hit.content_hash for hit in index.search_by_tag({"late": 1.0}, 10, EVERYTHING)}
    assert late == {item(7).memory.content_hash, item(51).memory.content_hash}
    terms = query_terms("note")
    assert list(index.search_by_text(reader, terms, 100, EVERYTHING)) == list(
        text_search.search_by_text(reader, terms, 100, EVERYTHING)
    )
    reader.close()
    writer.close()


async def test_a_file_that_lacks_much_of_what_changed_is_not_taken_for_a_new_one(
    path: Path, changes_while_building: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
):
    """Else it would be loaded again and again in place of the one that is due."""
    monkeypatch.setattr("mcp_memory_service.storage.sqlite_vec.index.live.segments.MIN_RENEWED", 5)
    reader, writer = connect(path, read_only=True), connect(path, read_only=False)
    changes_while_building(
        lambda: [delete_memory(writer, "default", item(number).memory.content_hash) for number in (1, 2, 3)]
    )
    build(reader, index_file(path))
    assert Segments(read_segment_file(index_file(path))).changed_since
    assert not is_current(reader, index_file(path), 0)
    build(reader, index_file(path))  # now there is nothing left to delete
    assert is_current(reader, index_file(path), newest_position(reader).sequence)
    reader.close()
    writer.close()


async def test_a_search_does_not_read_an_index_that_is_newer_than_its_rows(path: Path, monkeypatch: pytest.MonkeyPatch):
    """Between the moment a search sees the rows and the moment it has the index, another one applies a write."""
    slow, fast, writer = connect(path, read_only=True), connect(path, read_only=True), connect(path, read_only=False)
    build(fast, index_file(path))
    current = CurrentIndex(lambda _: None)
    assert not current.apply_some(fast, Segments(read_segment_file(index_file(path))))
    overtaking = iter([item(61)])

    def overtaken(connection: apsw.Connection) -> Position:
        seen = newest_position(connection)
        if connection is slow:
            for late in overtaking:
                store_memory(writer, late.memory, late.vectors, indexed_text)
                assert current.reader_for(fast) is not None
        return seen

    monkeypatch.setattr(catch_up, "newest_position", overtaken)
    store_memory(writer, item(60).memory, item(60).vectors, indexed_text)
    slow.execute("BEGIN")
    fast.execute("BEGIN")
    reader = current.reader_for(slow)
    assert reader is not None
    assert reader.position == newest_position(slow)
    assert reader.count_all_memories("default") == reads.count_all_memories(slow, "default") == LARGE + 2
    for connection in (slow, fast, writer):
        connection.close()


async def test_a_vector_of_hardly_any_length_keeps_no_other_from_being_found(path: Path):
    """Stores took such vectors before they were refused."""
    connection = connect(path, read_only=False)
    tiny = np.full(DIMENSION, 1e-25, np.float32)
    store_memory(connection, item(60).memory, [tiny], indexed_text)
    build(connection, index_file(path))
    reader = Segments(read_segment_file(index_file(path))).reader()
    found = reader.retrieve(connection, item(5).vectors[0], 10, EVERYTHING)
    assert len(found) == 10
    assert found[0].content_hash == item(5).memory.content_hash
    connection.close()


async def test_an_index_of_a_store_that_was_restored_while_it_was_built_is_given_up(
    path: Path, tmp_path: Path, changes_while_building: Callable[[Callable[[], object]], None]
):
    upkeep = StoreUpkeep(path, indexed_text, _silent)
    backup, _ = await asyncio.to_thread(upkeep.back_up, tmp_path / "one.backup")
    store = await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, indexed_text)
    await store.delete("default", item(3).memory.content_hash)
    await store.close()
    changes_while_building(lambda: upkeep.restore(backup))
    connection = connect(path, read_only=True)
    with pytest.raises(StorageUnavailable, match="restored"):
        build(connection, index_file(path))
    assert not index_file(path).exists()
    connection.close()
