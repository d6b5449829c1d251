"""Text is cut into words before its writer has its turn: nobody waits for a long one, and the words are the same."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.large_stores import DIMENSION, MODEL_ID, item
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import EmbeddedMemory, IndexedText, Memory, MemoryFilter, MemoryPatch, identity_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.prepared_text import PreparedText

LONG = item(1, "a long text about otters")
SOURCE = "notes.md"
NOTE = EmbeddedMemory(
    Memory(
        LONG.memory.content, identity_hash("note", SOURCE, None, LONG.memory.content), 1, 1, kind="note", source=SOURCE
    ),
    LONG.vectors,
)


class SlowAnalyzer:
    """Takes as long over the long text as the test likes."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_go_on = threading.Event()

    def __call__(self, content: str, tags: Sequence[str]) -> IndexedText:
        if content.strip() == LONG.memory.content:
            self.begun.set()
            assert self.may_go_on.wait(HANG_SECONDS)
        return indexed_text(content, tags)


async def _store(store: SqliteVecStorage) -> object:
    return await store.store_batch([LONG])


async def _update(store: SqliteVecStorage) -> object:
    return await store.update("default", LONG.memory.content_hash, MemoryPatch(tags=("new",)), 2)


async def _replace_source(store: SqliteVecStorage) -> object:
    return await store.replace_source("default", SOURCE, [NOTE], [])


async def _store_again(store: SqliteVecStorage) -> object:
    """As it came with another blank behind it, and with another tag."""
    content, known = f"{LONG.memory.content} ", LONG.memory
    again = Memory(content, known.content_hash, 1, 1, tags=("riverside",))
    return await store.store_batch([EmbeddedMemory(again, LONG.vectors)])


@pytest.mark.parametrize(
    ("is_known", "write"), [(False, _store), (True, _store_again), (True, _update), (False, _replace_source)]
)
async def test_others_write_while_a_long_text_is_cut_into_words(
    tmp_path: Path, is_known: bool, write: Callable[[SqliteVecStorage], Coroutine[Any, Any, object]]
):
    path = tmp_path / "store.db"
    analyzer = SlowAnalyzer()
    other = await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, indexed_text)
    if is_known:
        await other.store_batch([LONG])
    slow = await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, analyzer)
    writing = asyncio.create_task(write(slow))
    try:
        assert await asyncio.to_thread(analyzer.begun.wait, HANG_SECONDS)
        assert (await other.store_batch([item(2)]))[0].created
        assert (await slow.store_batch([item(3)]))[0].created
        assert not writing.done()
    finally:
        analyzer.may_go_on.set()
        await writing
        found = await other.search_by_text(query_terms("otters"), 10, MemoryFilter())
        await slow.close()
        await other.close()
    assert len(found.candidates) == 1


TEXTS = st.text(st.sampled_from("# \nabC_1-./:ßĲﬁﷺ東京ไท한+éΣ"), max_size=60)


@given(content=TEXTS, tags=st.lists(TEXTS.map(lambda text: text.replace("\n", " ")), max_size=3, unique=True))
def test_words_that_were_cut_before_are_those_of_the_text_with_its_tags(content: str, tags: list[str]):
    prepared = PreparedText(indexed_text, [Memory(content, "", 0, 0)])(content, tags)
    whole = indexed_text(content, tags)
    assert (prepared.labels, prepared.words) == (whole.labels, whole.words)
    assert sorted(prepared.names.split()) == sorted(whole.names.split())
