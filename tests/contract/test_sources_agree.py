"""Any sequence of changes to sources leaves the same in every store as in the reference, call by call."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from tests.support.whole_stores import assert_equal, contents

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import Edge, EmbeddedMemory, Memory, MemoryFilter, MemoryPatch, SourceRecord
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.qdrant import QdrantStorage

from .conftest import DIMENSION, MODEL_ID
from .memories import by_id, by_name, embedded, memory, note, vector, waiting

Call: TypeAlias = Callable[[Store], Awaitable[Any]]

NAMESPACES = ("default", "theirs")
SOURCES = ("vault/a.md", "vault/b.md", "vault2/a.md")
WORDS = ("kestrel", "otter", "badger", "heron")


class Chances:
    """Few values of each kind, so that calls meet the same memories again and again."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def call(self) -> Call:
        kinds = (self._replace, self._replace, self._relink, self._add_vectors, self._add_vectors, self._update)
        return self._chance.choice((*kinds, self._delete, self._store))()

    def _replace(self) -> Call:
        namespace, source = self._place()
        items = [self._embedded(self._chunk(namespace, source)) for _ in range(self._chance.randrange(5))]
        edges, record = self._edges([item.memory for item in items]), self._record(source)
        if self._chance.random() < 0.2:
            record = None
        return lambda store: store.replace_source(namespace, source, items, edges, record)

    def _relink(self) -> Call:
        namespace, source = self._place()
        edges, record = self._edges([self._chunk(namespace, source)]), self._record(source)
        return lambda store: store.relink_source(namespace, source, edges, record)

    def _add_vectors(self) -> Call:
        items = [embedded(self._chunk(*self._place()), self._direction()) for _ in range(self._chance.randrange(1, 6))]
        return lambda store: store.add_vectors(items)

    def _update(self) -> Call:
        chunk, patch = self._chunk(*self._place()), MemoryPatch(tags=self._tags(), metadata={"n": self._number()})
        return lambda store: store.update(chunk.namespace, chunk.content_hash, patch, now=50)

    def _delete(self) -> Call:
        chunk = self._chunk(*self._place())
        return lambda store: store.delete(chunk.namespace, chunk.content_hash)

    def _store(self) -> Call:
        namespace, source = self._place()
        word = self._chance.choice(WORDS)
        plain = memory(f"a plain {word}", *self._tags(), namespace=namespace, source=source, at=self._number())
        items = [embedded(plain, self._direction()), self._embedded(self._chunk(namespace, source))]
        return lambda store: store.store_batch(items)

    def _place(self) -> tuple[str, str]:
        return self._chance.choice(NAMESPACES), self._chance.choice(SOURCES)

    def _chunk(self, namespace: str, source: str) -> Memory:
        text, heading = f"the {self._chance.choice(WORDS)}", self._chance.choice(("Birds", "Birds > Heron"))
        made = note(text, f"note:{source}", source=source, anchor=heading, at=self._number())
        return replace(made, namespace=namespace, tags=self._tags(), updated_at=self._number())

    def _embedded(self, chunk: Memory) -> EmbeddedMemory:
        return waiting(chunk) if self._chance.random() < 0.7 else embedded(chunk, self._direction())

    def _edges(self, chunks: list[Memory]) -> list[Edge]:
        edges = [by_name(each, f"note:{self._chance.choice(SOURCES)}", weight=0.5) for each in chunks]
        return edges + [by_id(chunks[0], each) for each in chunks[1:] if each.content_hash != chunks[0].content_hash]

    def _record(self, source: str) -> SourceRecord:
        return SourceRecord(source, f"print {self._number()}", {"n": self._number()})

    def _direction(self) -> tuple[float, ...]:
        """Of length 1: a server may keep all vectors so."""
        return self._chance.choice(((0.6, 0.8, 0.0, 0.0), (0.8, 0.6, 0.0, 0.0), (0.0, 0.6, 0.8, 0.0)))

    def _tags(self) -> tuple[str, ...]:
        return tuple(self._chance.sample(("field", "river"), self._chance.randrange(3)))

    def _number(self) -> int:
        return self._chance.randrange(4)


async def outcome(call: Call, store: Store) -> Any:
    try:
        return await call(store)
    except InvalidInput as error:
        return error.code


async def seen(store: Store) -> dict[str, Any]:
    """What can be asked about both namespaces, but for what differs from store to store."""
    found: dict[str, Any] = {"waiting": {each.content_hash for each in await store.awaiting_vectors(100)}}
    for name in NAMESPACES:
        where, stats = MemoryFilter(name), await store.stats(name)
        ids = sorted(each.content_hash for each in (await store.list_memories(where, 0, 100)).memories)
        sample = await store.sample_vectors(where, 100)
        found[name] = (
            await store.list_sources(name),
            await store.list_sources(name, "vault", details=False),
            (stats.memories, stats.vectors, stats.tags, stats.awaiting_vectors),
            await store.edges_from(name, ids),
            await store.edges_to(name, ids),
            await store.list_memories(where, 0, 100),
            (sample.memories, len(sample.vectors), sample.drawn_from, sample.awaiting_vectors),
            {each.content_hash for each in await store.retrieve(vector(1.0, 2.0, 0.5, 0.0), 100, where)},
            await store.corpus_statistics(where, WORDS, ["field", "river"]),
            [list((await store.search_by_text(query_terms(word), 100, where)).candidates) for word in WORDS],
            [await store.search_by_tag({"field": 1.0}, 100, MemoryFilter(name, kinds=("note",)))],
        )
    return found


@pytest.mark.parametrize("seed", range(4))
async def test_a_store_does_what_the_reference_does(store: Store, seed: int):
    reference = await MemoryStore.open(MODEL_ID, DIMENSION, indexed_text)
    chances, over_a_network = Chances(seed), isinstance(store, QdrantStorage)
    for number in range(25 if over_a_network else 80):
        call = chances.call()
        assert await outcome(call, store) == await outcome(call, reference)
        if number % (8 if over_a_network else 3) == 0:
            found, expected = await seen(store), await seen(reference)
            assert found == expected
    assert_equal(await contents(store), await contents(reference))
