"""Memories of a source whose vectors come later: found by words at once, by meaning then; asked of every backend."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.support.one_memory import get_one, store_one

from mcp_memory_service.errors import InvalidVector
from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import EmbeddedMemory, Feedback, Memory, MemoryFilter, MemoryPatch, trash_of
from mcp_memory_service.storage.ports import Store

from .memories import EAST, EVERYTHING, NORTH, by_name, contents_near, embedded, memory, note, vector, waiting

SOURCE = "docs/a.md"


async def fill(store: Store, *items: EmbeddedMemory) -> None:
    await store.replace_source("default", SOURCE, items, [])


async def contents_by_words(store: Store, query: str, where: MemoryFilter = EVERYTHING) -> list[str]:
    found = (await store.search_by_text(query_terms(query), 10, where)).candidates
    memories = await store.get_many(where.namespace, [candidate.content_hash for candidate in found])
    return [each.content for each in memories]


async def names_of_waiting(store: Store, limit: int = 50, namespace: str | None = None) -> list[str]:
    return [each.content for each in await store.awaiting_vectors(limit, namespace)]


# --- searching


async def test_a_chunk_is_found_by_words_at_once_and_by_meaning_when_its_vectors_are_there(store: Store):
    await store_one(store, embedded(memory("a plain memory"), NORTH))
    assert await contents_near(store, EAST, EVERYTHING) == ["a plain memory"], "an index is there by now, if any"
    chunk = replace(note("the kestrel nests here", "note:Birds", anchor="Birds > Falcons"), tags=("field",))
    await fill(store, waiting(chunk))
    assert await contents_by_words(store, "kestrel") == [chunk.content]
    assert await contents_by_words(store, '"kestrel nests"') == [chunk.content]
    assert [found.content_hash for found in await store.search_by_tag({"field": 1.0}, 5, EVERYTHING)] == [
        chunk.content_hash
    ]
    assert await store.resolve("default", ["note:Birds"]) == {"note:Birds": [chunk.content_hash]}
    assert await contents_near(store, EAST, EVERYTHING) == ["a plain memory"]
    assert await store.add_vectors([embedded(chunk, EAST)]) == 1
    assert await contents_near(store, EAST, EVERYTHING) == [chunk.content, "a plain memory"]
    assert await contents_by_words(store, "kestrel") == [chunk.content]


async def test_a_store_of_waiting_memories_alone_is_searched(store: Store):
    chunks = [note(f"the kestrel number {i}", anchor=str(i)) for i in range(5)]
    await fill(store, *map(waiting, chunks))
    assert len(await contents_by_words(store, "kestrel")) == 5
    assert list(await store.retrieve(vector(*EAST), 5, EVERYTHING)) == []
    sample = await store.sample_vectors(EVERYTHING, 10)
    assert (len(sample.vectors), sample.memories, sample.drawn_from, sample.awaiting_vectors) == (0, 0, 5, 5)
    assert await store.add_vectors([embedded(each, EAST, NORTH) for each in chunks]) == 5
    assert len(await contents_near(store, NORTH, EVERYTHING)) == 5


async def test_the_headings_above_a_chunk_are_among_its_words(store: Store):
    chunk = note("closed in winter", anchor="Garden > Water valves")
    plain = memory("closed in summer", anchor="Garden")
    await store.store_batch([embedded(chunk), embedded(plain)])
    assert await contents_by_words(store, "garden") == ["closed in winter"]
    assert await contents_by_words(store, '"water valves"') == ["closed in winter"]
    statistics = await store.corpus_statistics(EVERYTHING, ["garden", "valv", "close"], [])
    assert statistics.having_word == {"garden": 1, "valv": 1, "close": 2}
    await fill(store, waiting(replace(chunk, tags=("hoses",))))
    assert await contents_by_words(store, "garden hoses") == ["closed in winter"]


# --- what waits


async def test_what_waits_is_told_in_an_order_that_stays(store: Store):
    chunks = [note(f"chunk {i}", anchor=str(i)) for i in range(7)]
    await fill(store, *map(waiting, chunks), embedded(note("has one")))
    theirs = replace(note("theirs"), namespace="theirs")
    await store.replace_source("theirs", SOURCE, [waiting(theirs)], [])
    every = await store.awaiting_vectors(50)
    assert sorted(every, key=lambda each: each.content) == [*chunks, theirs]
    assert await store.awaiting_vectors(50) == every
    assert await store.awaiting_vectors(3) == every[:3]
    assert await names_of_waiting(store, namespace="theirs") == ["theirs"]
    assert await names_of_waiting(store, namespace="nobody") == []
    assert await names_of_waiting(store, limit=0) == []
    counted = [await store.stats(name) for name in ("default", "theirs")]
    assert [(each.memories, each.vectors, each.awaiting_vectors) for each in counted] == [(8, 1, 7), (1, 0, 1)]


async def test_in_batches_all_get_their_vectors(store: Store):
    chunks = [note(f"chunk {i}", anchor=str(i)) for i in range(130)]
    await fill(store, *map(waiting, chunks))
    batches: list[int] = []
    while batch := await store.awaiting_vectors(64, "default"):
        batches.append(await store.add_vectors([embedded(each, EAST) for each in batch]))
    assert batches == [64, 64, 2]
    stats = await store.stats("default")
    assert (stats.vectors, stats.awaiting_vectors) == (130, 0)
    assert await store.get_many("default", [each.content_hash for each in chunks]) == chunks


async def test_vectors_are_given_once(store: Store):
    chunk, plain = note("chunk"), memory("plain")
    await fill(store, waiting(chunk))
    await store_one(store, embedded(plain, EAST))
    twice = [embedded(chunk, EAST), embedded(chunk, NORTH), embedded(plain, NORTH)]
    assert await store.add_vectors(twice) == 1
    assert await store.add_vectors([embedded(chunk, NORTH)]) == 0
    assert await store.add_vectors([]) == 0
    found = await store.get_embedded("default", [chunk.content_hash, plain.content_hash])
    assert all(np.allclose(each.vectors, [EAST]) for each in found)
    assert found[0].memory == chunk


async def test_of_several_that_give_vectors_at_once_one_does(store: Store):
    chunks = [note(f"chunk {i}", anchor=str(i)) for i in range(6)]
    await fill(store, *map(waiting, chunks))
    given = [[embedded(each, (1.0, float(n), 0.0, 0.0)) for each in chunks] for n in range(4)]
    assert sum(await asyncio.gather(*map(store.add_vectors, given))) == 6
    assert (await store.stats("default")).vectors == 6


async def test_what_was_replaced_meanwhile_gets_no_vectors_and_what_stayed_does(store: Store):
    gone, stays, elsewhere = note("gone", anchor="1"), note("stays", anchor="2"), replace(note("x"), namespace="theirs")
    await fill(store, waiting(gone), waiting(stays))
    asked = await store.awaiting_vectors(10)
    now = replace(stays, tags=("new",), updated_at=7, metadata={"a": 1})
    await fill(store, waiting(now), waiting(note("gone now", anchor="1")))
    assert await store.add_vectors([embedded(each, EAST) for each in (*asked, elsewhere)]) == 1
    assert await get_one(store, "default", stays.content_hash) == now, "not as it was when it was asked for"
    assert await contents_near(store, EAST, EVERYTHING) == ["stays"]
    assert await names_of_waiting(store) == ["gone now"]


async def test_unfit_vectors_are_refused_before_any_are_given(store: Store):
    chunks = [note("one"), note("two")]
    await fill(store, *map(waiting, chunks))
    for unfit in (waiting(chunks[1]), embedded(chunks[1], (0.0,) * 4), embedded(chunks[1], (1.0, 2.0))):
        with pytest.raises(InvalidVector):
            await store.add_vectors([embedded(chunks[0]), unfit])
    assert (await store.stats("default")).awaiting_vectors == 2


# --- what comes without, and with, later


async def test_a_plain_memory_never_waits(store: Store):
    with pytest.raises(InvalidVector):
        await store.store_batch([embedded(memory("has one")), waiting(memory("has none"))])
    assert await store.count_all_memories("default") == 0
    await store.store_batch([waiting(note("a chunk")), embedded(memory("has one"))])
    assert await names_of_waiting(store) == ["a chunk"]


async def test_what_waits_takes_the_vectors_that_it_is_stored_with(store: Store):
    by_batch, by_source = note("by batch", anchor="1"), note("by source", anchor="2")
    await fill(store, waiting(by_batch), waiting(by_source))
    await store.store_batch([embedded(by_batch, EAST)])
    assert await names_of_waiting(store) == ["by source"]
    await fill(store, waiting(by_batch), embedded(by_source, NORTH))
    found = await store.get_embedded("default", [by_batch.content_hash, by_source.content_hash])
    assert [each.memory for each in found] == [by_batch, by_source]
    assert [np.allclose(each.vectors, [near]) for each, near in zip(found, (EAST, NORTH), strict=True)] == [True, True]
    assert await names_of_waiting(store) == []


async def test_what_waits_is_read_as_all_others(store: Store):
    chunk, plain = note("chunk"), memory("plain")
    await fill(store, waiting(chunk))
    await store_one(store, embedded(plain, EAST, NORTH))
    scanned = {item.memory.content: len(item.vectors) for item in (await store.scan(None, 10)).items}
    assert scanned == {"chunk": 0, "plain": 2}
    ids = [chunk.content_hash, plain.content_hash]
    assert [len(item.vectors) for item in await store.get_embedded("default", ids)] == [0, 2]
    near = await store.chunk_similarities(vector(*EAST), "default", ids)
    assert near.keys() == {plain.content_hash}
    sample = await store.sample_vectors(EVERYTHING, 10)
    assert (len(sample.vectors), sample.memories, sample.drawn_from, sample.awaiting_vectors) == (2, 1, 2, 1)
    assert (await store.corpus_statistics(EVERYTHING, ["chunk", "plain"], [])).memories == 2
    assert await store.count_all_memories("default") == 2


async def test_a_sample_is_drawn_from_what_has_vectors(store: Store):
    chunks = [note(f"chunk {i}", anchor=str(i)) for i in range(40)]
    await fill(store, *(waiting(each) if i % 4 else embedded(each, EAST) for i, each in enumerate(chunks)))
    for where in (EVERYTHING, MemoryFilter(kinds=("note",)), MemoryFilter(after=0)):
        sample = await store.sample_vectors(where, 5)
        assert (len(sample.vectors), sample.memories, sample.drawn_from, sample.awaiting_vectors) == (5, 5, 40, 30)
    await store.add_vectors([embedded(each, EAST) for each in chunks])
    sample = await store.sample_vectors(EVERYTHING, 50)
    assert (len(sample.vectors), sample.memories, sample.drawn_from, sample.awaiting_vectors) == (40, 40, 40, 0)


async def waited_on(store: Store, namespace: str, chunk: Memory) -> bool:
    """Whether it is there, and waits."""
    found = await store.get_embedded(namespace, [chunk.content_hash])
    return [len(each.vectors) for each in found] == [0] and chunk.content in await names_of_waiting(store)


async def test_what_waits_is_changed_moved_and_brought_back_as_all_others(store: Store):
    chunk = note("chunk")
    await fill(store, waiting(chunk))
    patched = await store.update("default", chunk.content_hash, MemoryPatch(tags=("new",), pinned=True), now=5)
    assert patched
    assert await contents_by_words(store, "new") == ["chunk"]
    assert await store.add_edges("default", [by_name(chunk, "note:N")]) == []
    assert await store.add_feedback("default", Feedback("q", chunk.content_hash, useful=True, created_at=1))
    assert await waited_on(store, "default", chunk)
    assert await store.delete("default", chunk.content_hash, trashed_at=6)
    assert await waited_on(store, trash_of("default"), chunk)
    assert await store.restore("default", chunk.content_hash, 7) == patched
    assert await waited_on(store, "default", chunk)
    assert await store.edges_from("default", [chunk.content_hash]) == {chunk.content_hash: [by_name(chunk, "note:N")]}
    assert await store.add_vectors([embedded(chunk, EAST)]) == 1
    assert await contents_near(store, EAST, MemoryFilter(pinned=True)) == ["chunk"]


async def test_what_is_deleted_waits_no_longer(store: Store):
    chunks = [note("one", anchor="1"), note("two", anchor="2"), note("three", anchor="3")]
    await fill(store, *map(waiting, chunks))
    await store.delete("default", chunks[0].content_hash)
    await store.purge("default", [chunks[1].content_hash])
    assert await names_of_waiting(store) == ["three"]
    await fill(store)
    assert await names_of_waiting(store) == []
    assert (await store.stats("default")).awaiting_vectors == 0


async def test_what_waits_leaves_the_others_to_be_found(store: Store):
    """As many as are asked for, also where most have no vectors, and long ones have several."""
    chunks = [note(f"chunk {i}", anchor=str(i)) for i in range(60)]
    having: Sequence[Memory] = chunks[::3]
    await fill(store, *(embedded(each, EAST, NORTH, EAST) if each in having else waiting(each) for each in chunks))
    for limit in (1, 7, 20, 60):
        found = await store.retrieve(vector(*EAST), limit, EVERYTHING)
        assert len({each.content_hash for each in found}) == len(found) == min(limit, 20)
        assert {each.content_hash for each in found} <= {each.content_hash for each in having}
