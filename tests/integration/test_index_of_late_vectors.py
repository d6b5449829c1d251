"""The index of a store whose memories get their vectors later: in use all the while, and never behind."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.contract.memories import note, waiting
from tests.large_stores import DIMENSION, EVERYTHING, MODEL_ID, found_by_words, item, live, memories_in_file, opened
from tests.support.one_memory import store_one

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory, Memory, MemoryFilter
from mcp_memory_service.storage.sqlite_vec import IndexOptions, SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.index import LiveIndex

CHUNKS = [note(f"the kestrel number {i}", anchor=str(i)) for i in range(120)]
SOURCE = "docs/a.md"


def with_vectors(number: int, chunk: Memory) -> EmbeddedMemory:
    return EmbeddedMemory(chunk, item(number).vectors)


async def found_by_meaning(store: SqliteVecStorage, number: int) -> str | None:
    found = await store.retrieve(item(number).vectors[0], 1, EVERYTHING)
    return found[0].content_hash if found else None


@pytest.mark.parametrize("min_memories", [50, 1_000], ids=["in a file", "in memory"])
async def test_what_waits_is_found_from_the_index_before_and_after(tmp_path: Path, min_memories: int):
    store = await opened(tmp_path / "store.db", min_memories=min_memories)
    await store.replace_source("default", SOURCE, [waiting(each) for each in CHUNKS], [])
    await store.wait_ready()
    assert live(store).is_in_use
    assert len(await found_by_words(store, "kestrel")) == len(CHUNKS)
    assert await found_by_meaning(store, 3) is None
    for start in range(0, len(CHUNKS), 40):
        batch = [with_vectors(i, CHUNKS[i]) for i in range(start, start + 40)]
        assert await store.add_vectors(batch) == 40
        assert await found_by_meaning(store, start + 7) == CHUNKS[start + 7].content_hash
        assert live(store).is_in_use
    sample = await store.sample_vectors(EVERYTHING, 1000)
    assert (len(sample.vectors), sample.awaiting_vectors) == (120, 0)
    await store.close()
    again = await opened(tmp_path / "store.db", min_memories=min_memories)
    await again.wait_ready()
    rows = await SqliteVecStorage.open_existing(tmp_path / "store.db", indexed_text)
    query = np.ones(DIMENSION, np.float32)
    one, other = [await each.retrieve(query, 20, EVERYTHING) for each in (again, rows)]
    assert [each.content_hash for each in one] == [each.content_hash for each in other]
    assert [each.score for each in one] == pytest.approx([each.score for each in other], abs=1e-6)
    await again.close()
    await rows.close()


@pytest.mark.parametrize("min_memories", [50, 1_000], ids=["in a file", "in memory"])
async def test_the_length_of_vectors_may_come_with_the_first_of_them(tmp_path: Path, min_memories: int):
    """As with an embedding server that has not answered yet: until then the rows are searched."""
    index = partial(LiveIndex, options=IndexOptions(min_memories=min_memories))
    store = await SqliteVecStorage.open(tmp_path / "store.db", MODEL_ID, None, indexed_text, index=index)
    await store.replace_source("default", SOURCE, [waiting(each) for each in CHUNKS], [])
    await store.wait_ready()
    assert (live(store).is_in_use, store.degraded) == (False, ())
    assert len(await found_by_words(store, "kestrel")) == len(CHUNKS)
    assert await found_by_meaning(store, 3) is None
    assert await store.add_vectors([with_vectors(i, each) for i, each in enumerate(CHUNKS)]) == len(CHUNKS)
    assert await found_by_meaning(store, 3) == CHUNKS[3].content_hash
    assert (await store.stats("default")).embedding_dimension == DIMENSION
    await store.wait_ready()
    assert live(store).is_in_use
    assert await found_by_meaning(store, 3) == CHUNKS[3].content_hash
    await store.close()


@pytest.mark.parametrize("min_memories", [1, 50])
async def test_a_store_with_nothing_but_trash_has_no_index(tmp_path: Path, min_memories: int):
    store = await opened(tmp_path / "store.db", min_memories=min_memories)
    await store_one(store, item(1))
    await store.delete("default", item(1).memory.content_hash, trashed_at=5)
    await store.wait_ready()
    assert (live(store).is_in_use, store.degraded) == (False, ())
    await store.close()


async def test_the_file_of_an_index_has_what_waits(tmp_path: Path):
    store = await opened(tmp_path / "store.db")
    await store.replace_source("default", SOURCE, [waiting(each) for each in CHUNKS], [])
    await store.wait_ready()
    assert memories_in_file(tmp_path / "store.db") == len(CHUNKS)
    sample = await store.sample_vectors(MemoryFilter(after=0), 10)
    assert (sample.memories, sample.drawn_from, sample.awaiting_vectors) == (0, 120, 120)
    await store.close()
