"""What a copy of a whole store, and a cache of its tags, rely on; asked of every backend."""

from collections.abc import AsyncGenerator
from pathlib import Path

import numpy as np
import pytest
from tests.support.one_memory import get_one, store_one

from mcp_memory_service.models import EmbeddedMemory, MemoryPatch, content_hash
from mcp_memory_service.storage.ports import Store

from .conftest import Opener
from .memories import EAST, NORTH, embedded, memory


@pytest.fixture
async def whole(open_store: Opener, tmp_path: Path) -> AsyncGenerator[Store, None]:
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()


async def scanned(store: Store, limit: int) -> list[EmbeddedMemory]:
    found: list[EmbeddedMemory] = []
    cursor: str | None = None
    while True:
        part = await store.scan(cursor, limit)
        assert len(part.items) <= limit
        found += part.items
        cursor = part.cursor
        if cursor is None:
            return found


async def test_a_scan_reaches_every_memory_once_with_its_vectors(whole: Store):
    items = [embedded(memory(f"note {i}", "t", namespace=f"n{i % 3}", at=i), EAST, NORTH) for i in range(11)]
    await whole.store_batch(items)
    for limit in (1, 4, 11, 100):
        found = await scanned(whole, limit)
        assert {item.memory.content_hash: item.memory for item in found} == {
            item.memory.content_hash: item.memory for item in items
        }
        assert len(found) == len(items)
        assert all(np.allclose(item.vectors, (EAST, NORTH)) for item in found)


async def test_memories_are_got_with_their_vectors_in_the_order_asked(whole: Store):
    await whole.store_batch([embedded(memory("a"), EAST, NORTH), embedded(memory("b"), NORTH)])
    found = await whole.get_embedded("default", [content_hash("b"), "0" * 64, content_hash("a")])
    assert [item.memory.content for item in found] == ["b", "a"]
    assert np.allclose(found[1].vectors, (EAST, NORTH))


async def test_an_empty_store_has_no_namespace_and_nothing_to_scan(whole: Store):
    assert await whole.namespaces() == []
    assert (await whole.scan(None, 10)).items == ()


async def test_namespaces_are_those_that_have_memories(whole: Store):
    await whole.store_batch([embedded(memory("a", namespace="b")), embedded(memory("a", namespace="a"))])
    assert await whole.namespaces() == ["a", "b"]
    await whole.delete("b", content_hash("a"))
    assert await whole.namespaces() == ["a"]


async def test_the_version_of_the_tags_changes_whenever_a_tag_comes_or_goes(
    whole: Store, open_store: Opener, tmp_path: Path
):
    other = await open_store(tmp_path)
    versions = [await other.tags_version("default")]
    await store_one(whole, embedded(memory("a", "first")))
    versions.append(await other.tags_version("default"))
    await store_one(whole, embedded(memory("a", "second")))
    versions.append(await other.tags_version("default"))
    await whole.update("default", content_hash("a"), MemoryPatch(tags=("third",)), now=2)
    versions.append(await other.tags_version("default"))
    await whole.delete("default", content_hash("a"))
    versions.append(await other.tags_version("default"))
    assert len(set(versions)) == len(versions)
    await other.close()


async def test_what_another_handle_writes_is_there_at_once(whole: Store, open_store: Opener, tmp_path: Path):
    other = await open_store(tmp_path)
    await store_one(whole, embedded(memory("a", "first")))
    assert await get_one(other, "default", content_hash("a")) is not None
    await other.update("default", content_hash("a"), MemoryPatch(metadata={"seen": True}), now=2)
    found = await get_one(whole, "default", content_hash("a"))
    assert found is not None
    assert found.metadata == {"seen": True}
    await other.close()
