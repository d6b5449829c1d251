"""The promises of `storage/base.py`, asked of every backend."""

import asyncio
from pathlib import Path

import pytest
from tests.contract.conftest import Opener
from tests.contract.memories import EAST, EVERYTHING, NORTH, contents_near, embedded, memory, toward_north, vector
from tests.support.one_memory import get_one, store_one

from mcp_memory_service.errors import InvalidVector, StorageUnavailable
from mcp_memory_service.models import UNSET, EmbeddedMemory, MemoryFilter, MemoryPatch, TagCount, content_hash
from mcp_memory_service.storage.ports import Store

# --- storing and getting


async def test_a_stored_memory_comes_back_whole(store: Store):
    stored = memory(
        "Größe 部署 🚀\n\tשלום 'quoted' \"text\"",
        "Project:Rathole",
        "部署",
        at=-5_000_000,
        memory_type="fact",
        metadata={"deep": {"list": [1, 2.5, None, True, "x"]}, "ключ": "значение"},
        session="s1",
        sequence=3,
        source="test",
    )
    outcome = await store_one(store, embedded(stored))
    assert (outcome.memory, outcome.created) == (stored, True)
    assert await get_one(store, "default", stored.content_hash) == stored


async def test_an_unknown_memory_is_none(store: Store):
    assert await get_one(store, "default", "0" * 64) is None


async def test_storing_the_same_content_again_unites_and_keeps_the_first_date(store: Store):
    await store_one(store, embedded(memory("fact", "Alpha", "beta", at=10, metadata={"a": 1, "b": 1})))
    again = memory(
        "fact", "ALPHA", "gamma", at=99, metadata={"b": 2, "c": 3}, memory_type="note", session="s", sequence=0
    )
    outcome = await store_one(store, embedded(again))
    assert outcome.created is False
    assert outcome.memory.tags == ("Alpha", "beta", "gamma")
    assert outcome.memory.metadata == {"a": 1, "b": 2, "c": 3}
    assert (outcome.memory.created_at, outcome.memory.updated_at) == (10, 99)
    assert (outcome.memory.memory_type, outcome.memory.session, outcome.memory.sequence) == ("note", "s", 0)
    assert await get_one(store, "default", again.content_hash) == outcome.memory
    assert await store.count_all_memories("default") == 1


async def test_storing_the_identical_memory_again_changes_nothing(store: Store):
    first = memory("fact", "alpha", at=10, metadata={"a": 1})
    await store_one(store, embedded(first))
    outcome = await store_one(store, embedded(memory("fact", "alpha", at=99, metadata={"a": 1})))
    assert (outcome.memory, outcome.created) == (first, False)


async def test_a_batch_answers_in_order_and_stores_equal_content_once(store: Store):
    outcomes = await store.store_batch([embedded(memory(text)) for text in ("c", "a", "b", "a")])
    assert [(o.memory.content, o.created) for o in outcomes] == [("c", True), ("a", True), ("b", True), ("a", False)]
    assert await store.count_all_memories("default") == 3


async def test_a_batch_with_an_unfit_vector_stores_nothing(store: Store):
    with pytest.raises(InvalidVector):
        await store.store_batch([embedded(memory("good")), embedded(memory("bad"), (0.0, 0.0, 0.0, 0.0))])
    assert await store.count_all_memories("default") == 0


@pytest.mark.parametrize(
    "unfit",
    [
        (0.0, 0.0, 0.0, 0.0),
        (float("nan"), 1, 0, 0),
        (float("inf"), 0, 0, 0),
        (1e-25, 0, 0, 0),
        (1e25, 0, 0, 0),
        (1.0, 0.0),
        (1.0, 0, 0, 0, 0),
        (),
    ],
    ids=["zero", "nan", "inf", "tiny", "huge", "short", "long", "empty"],
)
async def test_an_unfit_vector_is_refused_for_storing_and_for_searching(store: Store, unfit: tuple[float, ...]):
    with pytest.raises(InvalidVector):
        await store_one(store, EmbeddedMemory(memory("x"), (vector(*unfit),)))
    with pytest.raises(InvalidVector):
        await store.retrieve(vector(*unfit), 1, EVERYTHING)


async def test_a_memory_without_a_vector_is_refused(store: Store):
    with pytest.raises(InvalidVector):
        await store_one(store, EmbeddedMemory(memory("x"), ()))


async def test_get_many_keeps_the_order_asked_and_leaves_out_the_unknown(store: Store):
    await store.store_batch([embedded(memory(text)) for text in "abc"])
    asked = [content_hash("c"), "unknown", content_hash("a")]
    assert [found.content for found in await store.get_many("default", asked)] == ["c", "a"]
    assert await store.get_many("default", []) == []


# --- searching by vector


async def test_nearest_first_with_cosine_similarity(store: Store):
    await store_one(store, embedded(memory("far"), (0.0, 2.0, 0.0, 0.0)))
    await store_one(store, embedded(memory("near"), (5.0, 0.0, 0.0, 0.0)))
    await store_one(store, embedded(memory("opposite"), (-1.0, 0.0, 0.0, 0.0)))
    found = await store.retrieve(vector(*EAST), 10, EVERYTHING)
    assert [c.content_hash for c in found] == [content_hash(text) for text in ("near", "far", "opposite")]
    assert [c.score for c in found] == pytest.approx([1.0, 0.0, -1.0], abs=1e-6)
    assert found[0].created_at == 1_000


async def test_a_long_memory_counts_once_by_its_nearest_window(store: Store):
    await store_one(store, embedded(memory("long"), NORTH, toward_north(0.1), toward_north(0.2), toward_north(0.3)))
    await store_one(store, embedded(memory("middle"), toward_north(0.05)))
    await store_one(store, embedded(memory("last"), toward_north(0.6)))
    assert await contents_near(store, EAST, EVERYTHING, limit=2) == ["middle", "long"]
    assert await contents_near(store, EAST, EVERYTHING, limit=3) == ["middle", "long", "last"]


async def test_a_filtered_search_never_comes_back_short(store: Store):
    near = [embedded(memory(f"near {i}", "common", at=i), toward_north(i / 10_000)) for i in range(300)]
    far = [
        embedded(memory(f"far {i}", "rare", "common", at=5_000 + i, memory_type="fix"), toward_north(0.9 + i / 1_000))
        for i in range(5)
    ]
    await store.store_batch([*near, *far])
    expected = [f"far {i}" for i in range(5)]
    for where in (
        MemoryFilter(tags=("rare",)),
        MemoryFilter(tags=("rare", "common"), tag_match="all"),
        MemoryFilter(types=("fix",)),
        MemoryFilter(after=5_000),
        MemoryFilter(after=5_000, before=9_000, types=("fix",), tags=("rare", "unknown")),
    ):
        assert await contents_near(store, EAST, where) == expected
    assert len(await store.retrieve(vector(*EAST), 305, MemoryFilter(tags=("common",)))) == 305
    assert await contents_near(store, EAST, MemoryFilter(tags=("rare", "unknown"), tag_match="all")) == []


async def test_time_filters_include_their_start_and_exclude_their_end(store: Store):
    await store.store_batch([embedded(memory(f"at {at}", at=at)) for at in (1, 2, 3)])
    page = await store.list_memories(MemoryFilter(after=2, before=3), 0, 10)
    assert [found.content for found in page.memories] == ["at 2"]


async def test_an_empty_store_finds_nothing(store: Store):
    assert await store.retrieve(vector(*EAST), 10, EVERYTHING) == []
    assert await store.search_by_tag({"x": 1.0}, 10, EVERYTHING) == []
    assert await store.get_all_tags("default") == []
    assert await store.count_all_memories("default") == 0


# --- searching by tag


async def test_tag_matches_come_by_summed_weight_then_newest(store: Store):
    await store.store_batch(
        [
            embedded(memory("both", "Rare", "common", at=1)),
            embedded(memory("rare", "RARE", at=2)),
            embedded(memory("old common", "common", at=3)),
            embedded(memory("new common", "Common", "other", at=4)),
            embedded(memory("other", "other", at=5)),
        ]
    )
    found = await store.search_by_tag({"rare": 3.0, "common": 0.5, "missing": 9.0}, 10, EVERYTHING)
    memories = await store.get_many("default", [c.content_hash for c in found])
    assert [m.content for m in memories] == ["both", "rare", "new common", "old common"]
    assert [c.score for c in found] == pytest.approx([3.5, 3.0, 0.5, 0.5])
    assert len(await store.search_by_tag({"common": 1.0}, 2, EVERYTHING)) == 2


async def test_equal_sets_of_tags_score_equal_whatever_their_order(store: Store):
    tags = [f"tag{i}" for i in range(7)]
    await store.store_batch([embedded(memory("up", *tags, at=1)), embedded(memory("down", *reversed(tags), at=1))])
    found = await store.search_by_tag({tag: 0.1 + i / 7 for i, tag in enumerate(tags)}, 10, EVERYTHING)
    assert found[0].score == found[1].score


async def test_filters_apply_to_tag_search(store: Store):
    await store.store_batch([embedded(memory("a", "t", at=1, memory_type="x")), embedded(memory("b", "t", at=2))])
    found = await store.search_by_tag({"t": 1.0}, 10, MemoryFilter(types=("x",)))
    assert [c.content_hash for c in found] == [content_hash("a")]


async def test_tags_are_counted_without_case_and_vanish_with_their_last_memory(store: Store):
    await store.store_batch(
        [embedded(memory("a", "Größe", "x")), embedded(memory("b", "GRÖSSE")), embedded(memory("c", "x", "y"))]
    )
    assert await store.get_all_tags("default") == [TagCount("Größe", 2), TagCount("x", 2), TagCount("y", 1)]
    await store.delete("default", content_hash("c"))
    await store.update("default", content_hash("b"), MemoryPatch(tags=("z",)), now=1)
    assert await store.get_all_tags("default") == [TagCount("Größe", 1), TagCount("x", 1), TagCount("z", 1)]


# --- changing and deleting


async def test_a_patch_changes_what_it_names_and_nothing_else(store: Store):
    stored = memory("fact", "a", at=5, metadata={"keep": 1, "drop": 2, "deep": {"x": 1, "y": 2}}, memory_type="note")
    await store_one(store, embedded(stored))
    patched = await store.update(
        "default",
        stored.content_hash,
        MemoryPatch(tags=("b", "B", "c"), metadata={"drop": None, "deep": {"x": None, "z": 3}, "new": [1]}),
        now=77,
    )
    assert patched is not None
    assert patched.tags == ("b", "c")
    assert patched.metadata == {"keep": 1, "deep": {"y": 2, "z": 3}, "new": [1]}
    assert (patched.memory_type, patched.created_at, patched.updated_at) == ("note", 5, 77)
    assert await get_one(store, "default", stored.content_hash) == patched


async def test_a_patch_can_remove_the_type_and_an_empty_one_changes_nothing(store: Store):
    stored = memory("fact", at=5, memory_type="note")
    await store_one(store, embedded(stored))
    assert await store.update("default", stored.content_hash, MemoryPatch(), now=77) == stored
    patched = await store.update("default", stored.content_hash, MemoryPatch(memory_type=None), now=77)
    assert patched is not None
    assert patched.memory_type is None
    assert MemoryPatch().memory_type is UNSET


async def test_patching_an_unknown_memory_is_none(store: Store):
    assert await store.update("default", "0" * 64, MemoryPatch(tags=("a",)), now=1) is None


async def test_a_deleted_memory_is_found_by_nothing(store: Store):
    await store.store_batch([embedded(memory("gone", "t")), embedded(memory("stays", "t"))])
    gone = content_hash("gone")
    assert await store.delete("default", gone) is True
    assert await store.delete("default", gone) is False
    assert await get_one(store, "default", gone) is None
    assert await contents_near(store, EAST, EVERYTHING) == ["stays"]
    assert [c.content_hash for c in await store.search_by_tag({"t": 1.0}, 10, EVERYTHING)] == [content_hash("stays")]
    assert (await store.list_memories(EVERYTHING, 0, 10)).total == 1
    stats = await store.stats("default")
    assert (stats.memories, stats.vectors) == (1, 1)


async def test_a_deleted_memory_can_be_stored_anew(store: Store):
    await store_one(store, embedded(memory("fact", "old", at=1)))
    await store.delete("default", content_hash("fact"))
    outcome = await store_one(store, embedded(memory("fact", "new", at=2)))
    assert (outcome.created, outcome.memory.tags, outcome.memory.created_at) == (True, ("new",), 2)


# --- listing, counting, namespaces


async def test_listing_is_newest_first_with_ties_by_id_and_pages_reach_the_end(store: Store):
    await store.store_batch([embedded(memory(f"m{i}", at=i // 2)) for i in range(7)])
    whole = await store.list_memories(EVERYTHING, 0, 100)
    order = sorted(whole.memories, key=lambda m: (-m.created_at, m.content_hash))
    assert list(whole.memories) == order
    pages = [await store.list_memories(EVERYTHING, offset, 3) for offset in (0, 3, 6, 9)]
    assert [m for page in pages for m in page.memories] == order
    assert {page.total for page in pages} == {7}


async def test_namespaces_do_not_see_each_other(store: Store):
    await store_one(store, embedded(memory("shared", "ours")))
    await store_one(store, embedded(memory("shared", "theirs", namespace="other")))
    theirs = MemoryFilter(namespace="other")
    assert [t.tag for t in await store.get_all_tags("default")] == ["ours"]
    assert [t.tag for t in await store.get_all_tags("other")] == ["theirs"]
    assert await store.search_by_tag({"ours": 1.0}, 10, theirs) == []
    assert len(await store.retrieve(vector(*EAST), 10, theirs)) == 1
    assert await store.delete("other", content_hash("shared")) is True
    assert await store.count_all_memories("other") == 0
    assert await store.count_all_memories("default") == 1
    assert await contents_near(store, EAST, EVERYTHING) == ["shared"]
    assert (await store.stats("other")).memories == 0


async def test_stats_tell_what_is_there(store: Store):
    await store_one(store, embedded(memory("a", "x", "y", at=3, memory_type="fix"), EAST, NORTH))
    await store_one(store, embedded(memory("b", "x", at=9)))
    stats = await store.stats("default")
    assert (stats.memories, stats.tags, stats.vectors) == (2, 2, 3)
    assert (stats.embedding_model, stats.embedding_dimension) == ("contract-4", 4)
    assert stats.memories_by_type == {"fix": 1, "": 1}
    assert (stats.oldest, stats.newest) == (3, 9)
    assert stats.size_bytes > 0


@pytest.mark.parametrize(
    "odd", ['" OR 1=1 --', "NEAR(a b) AND *", "'; DROP TABLE memories; --", "%_\\", "א", "a" * 200]
)
async def test_odd_text_is_only_text(store: Store, odd: str):
    await store_one(store, embedded(memory(odd, odd, memory_type=odd, metadata={odd: odd})))
    where = MemoryFilter(tags=(odd.casefold(),), types=(odd,))
    assert await contents_near(store, EAST, where) == [odd]
    assert len(await store.search_by_tag({odd.casefold(): 1.0}, 5, where)) == 1


# --- concurrency and life cycle


async def test_concurrent_writers_of_one_memory_lose_no_tag(store: Store):
    await asyncio.gather(*(store_one(store, embedded(memory("fact", f"tag{i}"))) for i in range(20)))
    found = await get_one(store, "default", content_hash("fact"))
    assert found is not None
    assert set(found.tags) == {f"tag{i}" for i in range(20)}


async def test_reads_and_writes_at_once_do_not_disturb_each_other(store: Store):
    async def write(i: int) -> None:
        await store_one(store, embedded(memory(f"m{i}", "t")))

    async def read() -> None:
        found = await store.retrieve(vector(*EAST), 100, EVERYTHING)
        assert len({c.content_hash for c in found}) == len(found)

    await asyncio.gather(*(task for i in range(40) for task in (write(i), read())))
    assert await store.count_all_memories("default") == 40


async def test_memories_are_there_after_reopening(open_store: Opener, tmp_path: Path):
    first = await open_store(tmp_path)
    await store_one(first, embedded(memory("fact", "t")))
    await first.close()
    await first.close()
    second = await open_store(tmp_path)
    assert await contents_near(second, EAST, EVERYTHING) == ["fact"]
    await second.close()


async def test_a_closed_store_says_so(open_store: Opener, tmp_path: Path):
    store = await open_store(tmp_path)
    await store.check_search()
    await store.check_write()
    await store.close()
    with pytest.raises(StorageUnavailable):
        await store.check_search()
    with pytest.raises(StorageUnavailable):
        await store.check_write()


async def test_stored_again_a_memory_keeps_its_first_vectors(store: Store):
    await store_one(store, embedded(memory("fact", "a"), EAST, NORTH))
    await store_one(store, embedded(memory("fact", "b"), NORTH))
    await store.store_batch([embedded(memory("twice", "a"), NORTH), embedded(memory("twice", "b"), EAST)])
    near = {found.content_hash: found.score for found in await store.retrieve(vector(*EAST), 10, EVERYTHING)}
    assert near[content_hash("fact")] == pytest.approx(1.0)
    assert near[content_hash("twice")] == pytest.approx(0.0, abs=1e-6)
