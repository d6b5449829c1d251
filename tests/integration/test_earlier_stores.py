"""Files made by every earlier version are brought up to date with all that they hold; see tests/data/stores."""

import gzip
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.contract.memories import memory
from tests.reliability.oracle import problems_of

from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import (
    EmbeddedMemory,
    Feedback,
    IdempotencyKey,
    Memory,
    MemoryFilter,
    TagCount,
    TunedWeights,
    Tuning,
    Vector,
)
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, schema

FILES = Path(__file__).parents[1] / "data" / "stores"
DELETED = 19


def _vector(number: int, part: int) -> Vector:
    made = np.full(16, 0.125, np.float32)
    made[number % 16] += 1.0 + part
    return made


def _memory(number: int) -> Memory:
    odd = number % 2 == 1
    return memory(
        f"note {number} about topic{number % 4} über 部署",
        f"Topic{number % 4}",
        "note",
        at=1_000 + number,
        memory_type="fix" if number % 3 else None,
        metadata={"n": number, "deep": {"list": [None, 1.5, "ü"]}},
        namespace="team" if number % 5 == 0 else "default",
        source="docs/1/a.md" if odd else None,
        session="s" if odd else None,
        sequence=number if odd else None,
    )


def _stored() -> list[EmbeddedMemory]:
    """What was written into each file, but for what was deleted again."""
    memories = [_memory(number) for number in range(20) if number != DELETED]
    memories[1] = replace(memories[1], tags=("changed",), metadata={"n": 1}, updated_at=2_000)
    return [
        EmbeddedMemory(kept, tuple(_vector(number, part) for part in range(1 + number % 2)))
        for number, kept in enumerate(memories)
    ]


@pytest.fixture(params=range(1, len(schema.MIGRATIONS)))
def version(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def path(version: int, tmp_path: Path) -> Path:
    path = tmp_path / "memories.db"
    path.write_bytes(gzip.decompress((FILES / f"version_{version}.db.gz").read_bytes()))
    raw = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    assert raw.execute("PRAGMA user_version").get == version
    raw.close()
    return path


@pytest.fixture
async def store(path: Path) -> AsyncGenerator[SqliteVecStorage, None]:
    opened = await SqliteVecStorage.open_existing(path, indexed_text)
    yield opened
    await opened.close()


async def test_every_memory_is_there_with_its_vectors(store: SqliteVecStorage):
    scan = await store.scan(None, 100)
    expected = _stored()
    assert [item.memory for item in scan.items] == [item.memory for item in expected]
    for found, item in zip(scan.items, expected, strict=True):
        assert np.array_equal(found.vectors, item.vectors)
    assert await store.namespaces() == ["default", "team"]


async def test_tags_are_counted(store: SqliteVecStorage):
    carried = [item.memory.tags for item in _stored() if item.memory.namespace == "default"]
    counts = {tag: sum(tag in tags for tags in carried) for tags in carried for tag in tags}
    assert sorted(await store.get_all_tags("default"), key=lambda count: count.tag) == [
        TagCount(tag, counts[tag]) for tag in sorted(counts)
    ]


async def test_every_search_finds(store: SqliteVecStorage):
    for item in _stored():
        where = MemoryFilter(item.memory.namespace)
        wanted = item.memory.content_hash
        near = await store.retrieve(item.vectors[0], 3, where)
        assert wanted in {found.content_hash for found in near}
        number = item.memory.content.split()[1]
        by_words = (await store.search_by_text(query_terms(f"note {number}"), 20, where)).candidates
        assert wanted in {found.content_hash for found in by_words}
        by_tag = await store.search_by_tag({item.memory.tags[0].casefold(): 1.0}, 20, where)
        assert wanted in {found.content_hash for found in by_tag}
    scoped = await store.list_memories(MemoryFilter(scope="docs/1", kinds=("memory",)), 0, 50)
    assert {found.source for found in scoped.memories} == {"docs/1/a.md"}


async def test_what_was_learned_is_there(store: SqliteVecStorage, version: int):
    said = [
        Feedback("which note", _memory(2).content_hash, True, 3_000),
        Feedback("which note", _memory(3).content_hash, False, 3_001),
    ]
    assert await store.list_feedback("default") == (said if version >= 3 else [])
    tuning = Tuning(TunedWeights(2.0, 1.5, 0.5), 4_000, 40, 0.5, 0.6, version=1)
    assert await store.current_tuning("default") == (tuning if version >= 3 else None)


async def test_a_request_that_was_carried_out_before_is_not_carried_out_again(store: SqliteVecStorage, version: int):
    again = EmbeddedMemory(_memory(DELETED), (_vector(DELETED, 0),))
    await store.store_batch([again])
    key = IdempotencyKey("k" * 64, "f" * 64, 5_001)
    assert await store.delete("default", again.memory.content_hash, key)
    left = await store.get_many("default", [again.memory.content_hash])
    assert left == ([again.memory] if version >= 4 else [])


async def test_the_file_is_sound_and_of_this_version(store: SqliteVecStorage, path: Path):
    assert (await store.stats("default")).schema_version == len(schema.MIGRATIONS)
    assert problems_of(path) == []
