"""The index answers as the rows do, whatever is stored, changed and deleted, by whomever."""

import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.indexed_store import EagerIndex, open_indexed

from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import (
    Candidate,
    EmbeddedMemory,
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryPatch,
    content_hash,
    identity_hash,
)
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.index.query import maxscore

DIMENSION = 100
MODEL_ID = "random-100"

WORDS = (
    "cache tunnel parser scheduler login the of a größe straße İstanbul 部署 サーバー ไทย node.js c++ c# __init__ "
    "src/a_b.rs:287 CVE-2025-1234 parseHTTPResponse e\u0301te\u0301 ﷺ ﬁne Ⅷ ꭰ Ꭰ 𝔘𝔫𝔦 🚀 x² ½ naïve run running runs"
).split()
TAGS = ("rathole", "Rathole", "project:x", "größe", "部署", "c++", "release notes")
NAMESPACES = ("default", "other")
TYPES = (None, "note", "decision")
KINDS: tuple[MemoryKind, ...] = ("memory", "memory", "note", "code")


class Stores(NamedTuple):
    path: Path
    rows: SqliteVecStorage
    indexed: SqliteVecStorage
    eager: EagerIndex


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncGenerator[Stores, None]:
    """One file, opened twice: what one of them writes, the other has to notice."""
    path = tmp_path / "store.db"
    rows = await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, indexed_text)
    indexed = await open_indexed(path, MODEL_ID, DIMENSION)
    assert isinstance(indexed.index, EagerIndex)
    yield Stores(path, rows, indexed, indexed.index)
    await indexed.close()
    await rows.close()


@pytest.mark.parametrize("seed", range(12))
async def test_an_index_answers_as_the_rows_do_after_any_changes(
    stores: Stores, seed: int, monkeypatch: pytest.MonkeyPatch
):
    if seed % 2:  # words are skipped where they cannot matter, as in large stores
        monkeypatch.setattr(maxscore, "MIN_POSTINGS_TO_SKIP", 1)
    chance = random.Random(seed)
    known: list[tuple[str, str]] = []
    for _ in range(4):
        for _ in range(6):
            await _change(stores, chance, known)
        for _ in range(8):
            await _require_equal(stores, chance)
    assert stores.eager.answered > 100


async def _change(stores: Stores, chance: random.Random, known: list[tuple[str, str]]) -> None:
    store = chance.choice((stores.rows, stores.indexed))
    action = chance.choice(("store", "store", "store", "patch", "delete", "again", "vectors"))
    if action == "store" or not known:
        batch = [_memory(chance) for _ in range(chance.randint(1, 40))]
        await store.store_batch(batch)
        known += [(item.memory.namespace, item.memory.content_hash) for item in batch]
        return
    namespace, hash_ = chance.choice(known)
    if action == "patch":
        await store.update(namespace, hash_, MemoryPatch(tags=_tags(chance), memory_type=chance.choice(TYPES)), now=7)
    elif action == "delete":
        await store.delete(namespace, hash_)
    elif action == "vectors":
        waiting = await store.awaiting_vectors(chance.randint(1, 20))
        await store.add_vectors([EmbeddedMemory(each, (_vector(chance),)) for each in waiting])
    else:
        found = await store.get_embedded(namespace, [hash_])
        await store.store_batch(found)


async def _require_equal(stores: Stores, chance: random.Random) -> None:
    where = _filter(chance)
    limit = chance.choice((1, 5, 50, 1000))
    query = " ".join(chance.sample(WORDS, chance.randint(1, 6)))
    if chance.random() < 0.3:
        query += f' "{chance.choice(WORDS)} {chance.choice(WORDS)}"'
    terms = query_terms(query)
    words = [*terms.words, *terms.names, "nowhere"]
    weights = {tag: chance.choice((0.0, 0.1, 0.7, 1 / 3)) for tag in ("rathole", "project:x", "größe", "部署", "none")}
    rows, indexed = stores.rows, stores.indexed
    assert (await indexed.search_by_text(terms, limit, where)) == (await rows.search_by_text(terms, limit, where))
    assert list(await indexed.search_by_tag(weights, limit, where)) == list(
        await rows.search_by_tag(weights, limit, where)
    )
    for asked in (where, MemoryFilter(where.namespace)):
        counted = await rows.corpus_statistics(asked, words, list(weights))
        assert await indexed.corpus_statistics(asked, words, list(weights)) == counted
        drawn, expected = await indexed.sample_vectors(asked, limit), await rows.sample_vectors(asked, limit)
        assert (drawn.memories, drawn.drawn_from) == (expected.memories, expected.drawn_from)
        assert drawn.awaiting_vectors == expected.awaiting_vectors
        assert np.array_equal(drawn.vectors, expected.vectors)
    assert await indexed.count_all_memories(where.namespace) == await rows.count_all_memories(where.namespace)
    vector = _vector(chance)
    _require_near(await indexed.retrieve(vector, limit, where), await rows.retrieve(vector, limit, where))


def _require_near(found: Sequence[Candidate], exact: Sequence[Candidate]) -> None:
    """So few are all measured; the first of them by the stored vectors."""
    assert len(found) == len(exact)
    assert list(found[:10]) == list(exact[:10])
    assert np.allclose([each.score for each in found], [each.score for each in exact], atol=0.005)


def _memory(chance: random.Random) -> EmbeddedMemory:
    text = " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 30)))
    content = f"# {chance.choice(WORDS)}\n{text}" if chance.random() < 0.2 else text
    in_session, kind = chance.random() < 0.3, chance.choice(KINDS)
    anchor = None if kind == "memory" else f"{chance.choice(WORDS)} > {chance.choice(WORDS)}"
    memory = Memory(
        content=content,
        content_hash=identity_hash(kind, None, anchor, content),
        kind=kind,
        anchor=anchor,
        created_at=chance.randint(1, 20),
        updated_at=5,
        tags=_tags(chance),
        memory_type=chance.choice(TYPES),
        namespace=chance.choice(NAMESPACES),
        session=chance.choice(("s1", "größe")) if in_session else None,
        sequence=chance.choice((None, 0, 3)) if in_session else None,
    )
    chunks = chance.choice((1, 1, 1, 3) if kind == "memory" else (0, 0, 1, 3))
    return EmbeddedMemory(memory, tuple(_vector(chance) for _ in range(chunks)))


def _tags(chance: random.Random) -> tuple[str, ...]:
    return tuple(chance.sample(TAGS, chance.randint(0, 3)))


def _vector(chance: random.Random) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(chance.randrange(2**32)).normal(size=DIMENSION).astype(np.float32)


def _filter(chance: random.Random) -> MemoryFilter:
    return MemoryFilter(
        namespace=chance.choice((*NAMESPACES, "nobody")),
        tags=tuple(chance.sample(("rathole", "project:x", "größe", "none"), chance.choice((0, 0, 1, 2)))),
        tag_match=chance.choice(("any", "all")),
        types=tuple(chance.sample(("note", "decision", "unknown"), chance.choice((0, 1, 1, 2)))),
        after=chance.choice((None, None, 5)),
        before=chance.choice((None, None, 15)),
        kinds=tuple(chance.sample(("memory", "note", "error"), chance.choice((0, 0, 1, 2)))),
    )


@pytest.mark.parametrize("limit", [10, 1000])
async def test_a_filter_is_kept_among_many_that_were_written_in_turns(stores: Stores, limit: int):
    """More than are compared one by one, so that a sample says how near is near enough."""
    chance = random.Random(1)
    drawn = np.random.default_rng(1).normal(size=(9_000, DIMENSION)).astype(np.float32)
    numbered = [(f"number {number}", ("user", "assistant")[number % 2]) for number in range(len(drawn))]
    items = [
        EmbeddedMemory(Memory(text, content_hash(text), 1, 1, memory_type=kind), (vector,))
        for (text, kind), vector in zip(numbered, drawn, strict=True)
    ]
    await stores.rows.store_batch(items)
    where, query = MemoryFilter(types=("assistant",)), _vector(chance)
    allowed = {content_hash(text) for text, kind in numbered if kind == "assistant"}
    found = await stores.indexed.retrieve(query, limit, where)
    assert len(found) == limit
    assert {hit.content_hash for hit in found} <= allowed
    assert list(found[:10]) == list((await stores.rows.retrieve(query, limit, where))[:10])


async def test_a_memory_without_vectors_is_found_by_its_words(stores: Stores):
    """As after a repair that was not finished."""
    chance = random.Random(2)
    await stores.rows.store_batch([_memory(chance) for _ in range(30)])
    await _require_equal(stores, chance)
    bare = Memory("kestrel", content_hash("kestrel"), 1, 1)
    await stores.rows.store_batch([EmbeddedMemory(bare, (_vector(chance),))])

    with closing(connect(stores.path, read_only=False)) as connection:
        connection.execute("DELETE FROM vectors WHERE memory_id = (SELECT max(id) FROM memories)")
    await stores.rows.update("default", bare.content_hash, MemoryPatch(tags=("bird",)), now=9)
    found = (await stores.indexed.search_by_text(query_terms("kestrel"), 5, MemoryFilter())).candidates
    assert [hit.content_hash for hit in found] == [bare.content_hash]
    near = [
        await store.retrieve(_vector(random.Random(3)), 50, MemoryFilter()) for store in (stores.indexed, stores.rows)
    ]
    _require_near(*near)
