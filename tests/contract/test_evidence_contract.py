"""What the ranking asks of every store beside searches: samples, rarities, neighbours."""

import math

import pytest
from tests.support.one_memory import store_one

from mcp_memory_service.errors import InvalidVector
from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import CorpusStatistics, EmbeddedMemory, MemoryFilter
from mcp_memory_service.storage.ports import Store

from .memories import EAST, EVERYTHING, NORTH, embedded, memory, vector


def turn(
    session: str | None, sequence: int | None, content: str, *tags: str, namespace: str = "default"
) -> EmbeddedMemory:
    return embedded(memory(content, *tags, namespace=namespace, session=session, sequence=sequence))


async def test_neighbours_are_the_memories_before_and_after_in_the_session(store: Store):
    items = [turn("talk", number, f"turn {number}") for number in (1, 2, 3, 5)]
    await store.store_batch([*items, turn("other", 2, "elsewhere"), turn(None, None, "alone"), turn("talk", None, "?")])
    hashes = {item.memory.sequence: item.memory.content_hash for item in items}
    found = await store.adjacent([hashes[2]], 100, EVERYTHING)
    assert [(candidate.session, candidate.sequence, candidate.score) for candidate in found] == [
        ("talk", 1, 0.0),
        ("talk", 3, 0.0),
    ]
    assert await store.adjacent([hashes[5]], 100, EVERYTHING) == []
    both = await store.adjacent([hashes[1], hashes[3], "0" * 64], 100, EVERYTHING)
    assert [candidate.content_hash for candidate in both] == [hashes[2]]
    assert len(await store.adjacent([hashes[2]], 1, EVERYTHING)) == 1


async def test_the_ends_of_the_numbers_have_neighbours_too(store: Store):
    ends = [turn("talk", number, f"turn {number}") for number in (0, 1, 2**63 - 2, 2**63 - 1)]
    await store.store_batch(ends)
    found = await store.adjacent([ends[0].memory.content_hash, ends[3].memory.content_hash], 100, EVERYTHING)
    assert [candidate.sequence for candidate in found] == [1, 2**63 - 2]


async def test_neighbours_pass_the_filter_and_stay_in_the_namespace(store: Store):
    first, second = turn("talk", 1, "first"), turn("talk", 2, "second", "wanted")
    await store.store_batch([first, second, turn("talk", 2, "theirs", namespace="theirs")])
    origin = [first.memory.content_hash]
    assert len(await store.adjacent(origin, 100, EVERYTHING)) == 1
    assert len(await store.adjacent(origin, 100, MemoryFilter(tags=("wanted",)))) == 1
    assert await store.adjacent(origin, 100, MemoryFilter(tags=("unwanted",))) == []
    assert await store.adjacent(origin, 100, MemoryFilter(after=2_000)) == []


async def test_searches_tell_the_place_in_the_session(store: Store):
    await store_one(store, turn("talk", 7, "tunnel"))
    (found,) = await store.retrieve(vector(*EAST), 5, EVERYTHING)
    assert (found.session, found.sequence) == ("talk", 7)


async def test_a_small_namespace_is_sampled_whole_and_a_large_one_up_to_the_limit(store: Store):
    assert len((await store.sample_vectors(EVERYTHING, 10)).vectors) == 0
    await store.store_batch([embedded(memory(f"note {i}"), EAST, NORTH) for i in range(4)])
    await store_one(store, turn(None, None, "theirs", namespace="theirs"))
    whole = await store.sample_vectors(EVERYTHING, 100)
    assert (whole.memories, whole.vectors.shape) == (4, (8, 4))
    part = await store.sample_vectors(EVERYTHING, 4)
    assert (part.memories, part.vectors.shape) == (2, (4, 4))
    assert (part.vectors == (await store.sample_vectors(EVERYTHING, 4)).vectors).all()


async def test_memories_are_counted_by_their_words_names_and_tags(store: Store):
    await store.store_batch([turn(None, None, f"tunnel number{i}", "Lab", *["few"] * (i < 2)) for i in range(9)])
    await store_one(store, turn(None, None, "retry_count of theirs", namespace="theirs"))
    await store_one(store, turn(None, None, "retry_count"))
    counted = await store.corpus_statistics(
        EVERYTHING, ["tunnel", "number3", "retry_count", "no"], ["lab", "few", "no"]
    )
    words = {"tunnel": 9, "number3": 1, "retry_count": 1, "no": 0}
    assert counted == CorpusStatistics(10, words, {"lab": 9, "few": 2, "no": 0})
    assert await store.corpus_statistics(EVERYTHING, [], []) == CorpusStatistics(10, {}, {})
    assert await store.corpus_statistics(MemoryFilter("none"), ["tunnel"], []) == CorpusStatistics(0, {"tunnel": 0}, {})


async def test_a_keyword_search_says_which_words_of_the_query_its_best_hit_has(store: Store):
    await store.store_batch([turn(None, None, "the tunnel of rathole is reused"), turn(None, None, "a tunnel")])
    await store_one(store, embedded(memory("# Design\n\nkeep alive", "gateway"), EAST))

    async def best_has(query: str) -> frozenset[str]:
        return (await store.search_by_text(query_terms(query), 5, EVERYTHING)).best_has

    assert await best_has("rathole tunnels are fast") == {"rathol", "tunnel"}
    assert await best_has('nowhere "rathole is reused"') == {"rathol", "is", "reus"}
    assert await best_has("designs of gateways") == {"design", "gateway"}
    assert await best_has("nowhere") == frozenset()


async def test_every_chunk_of_a_memory_has_its_similarity_in_the_order_of_the_text(store: Store):
    south = (0.0, -2.0, 0.0, 0.0)
    long, short = memory("a long text"), memory("a short one")
    await store.store_batch([embedded(long, NORTH, EAST, (3.0, 3.0, 0.0, 0.0), south), embedded(short, EAST)])
    await store_one(store, embedded(memory("a long text", namespace="theirs"), EAST))
    asked = [short.content_hash, "0" * 64, long.content_hash, long.content_hash]
    found = await store.chunk_similarities(vector(0.0, 5.0, 0.0, 0.0), "default", asked)
    assert found.keys() == {short.content_hash, long.content_hash}
    assert found[long.content_hash] == pytest.approx([1.0, 0.0, math.sqrt(0.5), -1.0], abs=1e-6)
    assert found[short.content_hash] == pytest.approx([0.0], abs=1e-6)
    assert await store.chunk_similarities(vector(*EAST), "default", []) == {}
    with pytest.raises(InvalidVector):
        await store.chunk_similarities(vector(1.0), "default", [long.content_hash])
