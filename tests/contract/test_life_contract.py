"""The life of a memory on every backend: edited, superseded, expired, deleted, brought back."""

from dataclasses import replace

import pytest

from mcp_memory_service.errors import IdempotencyKeyReused, InvalidInput, InvalidVector
from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import (
    Edge,
    Feedback,
    IdempotencyKey,
    JsonValue,
    Memory,
    MemoryFilter,
    MemoryPatch,
    MetadataIs,
    content_hash,
    history_of,
    trash_of,
)
from mcp_memory_service.storage.ports import Store

from .memories import EAST, EVERYTHING, NORTH, contents_near, embedded, memory, note, vector

HISTORY, TRASH = MemoryFilter(history_of("default")), MemoryFilter(trash_of("default"))
TUESDAY, THURSDAY = content_hash("deploys on Tuesday"), content_hash("deploys on Thursday")


async def listed(store: Store, where: MemoryFilter = EVERYTHING) -> list[Memory]:
    return list((await store.list_memories(where, 0, 50)).memories)


async def texts(store: Store, where: MemoryFilter = EVERYTHING) -> list[str]:
    return sorted(found.content for found in await listed(store, where))


async def edit(store: Store, old: str, content: str, now: int = 5_000, key: IdempotencyKey | None = None):
    return await store.update("default", old, MemoryPatch(content=content), now, key, [vector(*NORTH)])


async def deploys(store: Store) -> Memory:
    """A memory with all that can belong to one."""
    old = memory(
        "deploys on Tuesday", "Deploy", "ops", at=1_000, memory_type="fact", metadata={"n": 1}, session="s", sequence=3
    )
    old = replace(old, pinned=True, expires_at=90_000)
    await store.store_batch([embedded(old), embedded(memory("another one", "ops"))])
    await store.add_edges("default", [Edge(old.content_hash, "target", "mentions", 0.5, by_name=True)])
    await store.add_feedback("default", Feedback("when", old.content_hash, useful=True, created_at=1_500))
    return old


async def test_an_edit_keeps_all_that_the_memory_was_but_its_text(store: Store):
    old = await deploys(store)
    new = await edit(store, TUESDAY, "deploys on Thursday")
    expected = replace(old, content="deploys on Thursday", content_hash=THURSDAY, updated_at=5_000, edited_at=5_000)
    assert new == expected
    assert await store.get_many("default", [TUESDAY, THURSDAY]) == [expected]
    edges = await store.edges_from("default", [THURSDAY])
    assert {(edge.kind, edge.to, edge.weight) for edge in edges[THURSDAY]} == {
        ("mentions", "target", 0.5),
        ("supersedes", TUESDAY, 1.0),
    }
    assert [(said.content_hash, said.query) for said in await store.list_feedback("default")] == [(THURSDAY, "when")]
    assert await listed(store, HISTORY) == [replace(old, namespace=history_of("default"), ended_at=5_000)]
    assert await store.edges_to("default", [TUESDAY], ["supersedes"]) == {
        TUESDAY: [Edge(THURSDAY, TUESDAY, "supersedes", by_name=False)]
    }


async def test_a_version_that_was_replaced_counts_for_nothing(store: Store):
    await deploys(store)
    before = await store.stats("default"), await store.get_all_tags("default")
    await edit(store, TUESDAY, "deploys on Thursday")
    assert (await store.count_all_memories("default"), await store.get_all_tags("default")) == (2, before[1])
    assert (await store.stats("default")).memories_by_type == before[0].memories_by_type
    assert sorted(await contents_near(store, EAST, EVERYTHING)) == ["another one", "deploys on Thursday"]
    assert not (await store.search_by_text(query_terms("Tuesday"), 10, EVERYTHING)).candidates
    assert (await store.corpus_statistics(EVERYTHING, ["tuesday"], [])).having_word == {"tuesday": 0}
    found = await store.search_by_text(query_terms("Tuesday"), 10, HISTORY)
    assert [each.content_hash for each in found.candidates] == [TUESDAY]
    assert [each.content_hash for each in await store.search_by_tag({"ops": 1.0}, 10, HISTORY)] == [TUESDAY]
    assert await contents_near(store, EAST, HISTORY) == ["deploys on Tuesday"]


async def test_an_edit_to_the_same_text_is_a_patch(store: Store):
    old = await deploys(store)
    patch = MemoryPatch(content=" deploys on Tuesday\n", pinned=False, expires_at=None)
    patched = await store.update("default", TUESDAY, patch, 5_000, None, [vector(*NORTH)])
    assert patched == replace(old, pinned=False, expires_at=None, updated_at=5_000)
    assert await listed(store, HISTORY) == []


async def test_an_edit_to_a_text_that_is_there_unites_the_two(store: Store):
    await deploys(store)
    await store.store_batch([embedded(memory("deploys on Thursday", "new", at=2_000))])
    new = await edit(store, TUESDAY, "deploys on Thursday")
    assert new is not None
    assert (new.tags, new.created_at, new.metadata, new.pinned) == (("new", "Deploy", "ops"), 2_000, {"n": 1}, True)
    assert await texts(store) == ["another one", "deploys on Thursday"]
    assert await texts(store, HISTORY) == ["deploys on Tuesday"]


async def test_what_a_united_memory_has_of_its_own_counts_for_more_than_what_it_inherits(store: Store):
    await deploys(store)
    await store.store_batch([embedded(memory("deploys on Thursday"))])
    await store.add_edges("default", [Edge(THURSDAY, "target", "mentions", 0.9, by_name=True)])
    await store.add_feedback("default", Feedback("when", THURSDAY, useful=False, created_at=1_200))
    await edit(store, TUESDAY, "deploys on Thursday")
    edges = (await store.edges_from("default", [THURSDAY]))[THURSDAY]
    assert {(edge.kind, edge.weight) for edge in edges} == {("mentions", 0.9), ("supersedes", 1.0)}
    assert [(said.useful, said.created_at) for said in await store.list_feedback("default")] == [(False, 1_200)]


async def test_a_scan_has_what_has_moved_once(store: Store):
    await deploys(store)
    await edit(store, TUESDAY, "deploys on Thursday")
    await store.delete("default", content_hash("another one"), trashed_at=8_000)
    scanned: list[tuple[str, str]] = []
    cursor: str | None = None
    while cursor is not None or not scanned:
        part = await store.scan(cursor, 1)
        scanned += [(item.memory.namespace, item.memory.content) for item in part.items]
        cursor = part.cursor
    assert sorted(scanned) == [
        ("default", "deploys on Thursday"),
        ("default#history", "deploys on Tuesday"),
        ("default#trash", "another one"),
    ]


async def test_an_edit_there_and_back_again_keeps_the_last_of_each(store: Store):
    await deploys(store)
    for now, (old, new) in enumerate([(TUESDAY, "Thursday"), (THURSDAY, "Tuesday"), (TUESDAY, "Thursday")]):
        assert await edit(store, old, f"deploys on {new}", now=5_000 + now) is not None
    assert [found.edited_at for found in await listed(store) if found.pinned] == [5_002]
    assert {found.content_hash: found.ended_at for found in await listed(store, HISTORY)} == {
        TUESDAY: 5_002,
        THURSDAY: 5_001,
    }


async def test_a_refused_edit_changes_nothing(store: Store):
    await deploys(store)
    of_a_file = note("of a file")
    await store.replace_source("default", "docs/a.md", [embedded(of_a_file)], [])
    before = await listed(store)
    with pytest.raises(InvalidInput):
        await edit(store, of_a_file.content_hash, "something else")
    with pytest.raises(InvalidVector):
        await store.update(
            "default", TUESDAY, MemoryPatch(content="deploys on Thursday"), 5_000, None, [vector(0.0, 0.0, 0.0, 0.0)]
        )
    with pytest.raises(InvalidVector):
        await store.update("default", TUESDAY, MemoryPatch(content="deploys on Thursday"), 5_000)
    assert await edit(store, content_hash("nowhere"), "x") is None
    assert await listed(store) == before
    assert await listed(store, HISTORY) == []


async def test_an_edit_that_is_sent_again_is_not_made_again(store: Store):
    await deploys(store)
    key = IdempotencyKey("k", "f", 5_000)
    first = await edit(store, TUESDAY, "deploys on Thursday", key=key)
    assert await edit(store, TUESDAY, "deploys on Thursday", now=6_000, key=key) == first
    with pytest.raises(IdempotencyKeyReused):
        await edit(store, TUESDAY, "deploys on Friday", key=replace(key, fingerprint="g"))
    assert len(await listed(store, HISTORY)) == 1


async def test_what_is_stored_supersedes_what_it_names(store: Store):
    copies = [memory(f"deploys on Tuesday {number}", "ops", at=1_000 + number) for number in range(3)]
    await store.store_batch([embedded(copy) for copy in copies])
    new = memory("deploys on Thursday", at=7_000)
    ids = [copy.content_hash for copy in copies]
    item = replace(embedded(new), supersedes=(*ids, content_hash("nowhere"), THURSDAY))
    (outcome,) = await store.store_batch([item])
    assert outcome.created
    assert await texts(store) == ["deploys on Thursday"]
    assert {found.ended_at for found in await listed(store, HISTORY)} == {7_000}
    edges = (await store.edges_from("default", [THURSDAY], ["supersedes"]))[THURSDAY]
    assert {edge.to for edge in edges} == set(ids)
    assert [outcome.created for outcome in await store.store_batch([item])] == [False]  # sent again
    assert await texts(store) == ["deploys on Thursday"]


async def test_what_goes_to_the_trash_comes_back_as_it_was(store: Store):
    old = await deploys(store)
    tags, counted = await store.get_all_tags("default"), await store.count_all_memories("default")
    assert await store.delete("default", TUESDAY, trashed_at=8_000)
    assert not await store.delete("default", TUESDAY, trashed_at=8_000)
    assert await texts(store) == ["another one"]
    assert await store.count_all_memories("default") == counted - 1
    assert await store.list_feedback("default") == []
    assert await listed(store, TRASH) == [replace(old, namespace=trash_of("default"), ended_at=8_000)]
    assert await store.restore("default", TUESDAY, 9_000) == old
    assert await store.restore("default", TUESDAY, 9_000) is None
    assert await store.get_many("default", [TUESDAY]) == [old]
    assert await store.get_all_tags("default") == tags
    assert await listed(store, TRASH) == []
    assert len(await store.list_feedback("default")) == 1
    assert [edge.to for edge in (await store.edges_from("default", [TUESDAY]))[TUESDAY]] == ["target"]
    assert "deploys on Tuesday" in await contents_near(store, EAST, EVERYTHING)


async def test_what_comes_back_beside_its_own_text_is_united_with_it(store: Store):
    await deploys(store)
    await store.delete("default", TUESDAY, trashed_at=8_000)
    await store.store_batch([embedded(memory("deploys on Tuesday", "fresh", at=8_500))])
    found = await store.restore("default", TUESDAY, 9_000)
    assert found is not None
    assert (found.tags, found.created_at, found.updated_at, found.ended_at) == (
        ("fresh", "Deploy", "ops"),
        8_500,
        9_000,
        None,
    )
    assert await listed(store, TRASH) == []
    assert [edge.to for edge in (await store.edges_from("default", [TUESDAY]))[TUESDAY]] == ["target"]
    assert [said.query for said in await store.list_feedback("default")] == ["when"]


async def test_a_delete_that_is_sent_again_takes_nothing_from_the_trash(store: Store):
    await deploys(store)
    key = IdempotencyKey("k", "f", 8_000)
    assert await store.delete("default", TUESDAY, key, trashed_at=8_000)
    await store.restore("default", TUESDAY, 8_500)
    assert await store.delete("default", TUESDAY, key, trashed_at=9_000)
    assert TUESDAY in {found.content_hash for found in await listed(store)}


async def test_the_trash_keeps_the_last_of_one_text(store: Store):
    for moment in (8_000, 9_000):
        await store.store_batch([embedded(memory("x", at=moment - 500))])
        await store.delete("default", content_hash("x"), trashed_at=moment)
    assert [(found.created_at, found.ended_at) for found in await listed(store, TRASH)] == [(8_500, 9_000)]
    assert len(await listed(store, replace(TRASH, ended_before=9_001))) == 1
    assert await listed(store, replace(TRASH, ended_before=9_000)) == []


async def test_a_purge_reaches_history_and_trash(store: Store):
    await deploys(store)
    await edit(store, TUESDAY, "deploys on Thursday")
    await store.delete("default", content_hash("another one"), trashed_at=8_000)
    purged = await store.purge("default", [TUESDAY, content_hash("another one"), content_hash("nowhere")])
    assert purged.not_found == (content_hash("nowhere"),)
    assert await listed(store, HISTORY) + await listed(store, TRASH) == []
    assert "supersedes" not in {edge.kind for edge in (await store.edges_from("default", [THURSDAY]))[THURSDAY]}


async def test_expiry_is_a_moment(store: Store):
    items = [replace(memory(f"until {end}", "t"), expires_at=end) for end in (None, 10, 20)]
    await store.store_batch([embedded(item) for item in items])
    for where, expected in (
        (EVERYTHING, ["until 10", "until 20", "until None"]),
        (MemoryFilter(alive_at=9), ["until 10", "until 20", "until None"]),
        (MemoryFilter(alive_at=10), ["until 20", "until None"]),
        (MemoryFilter(alive_at=99), ["until None"]),
        (MemoryFilter(expired_by=9), []),
        (MemoryFilter(expired_by=10), ["until 10"]),
        (MemoryFilter(expired_by=99), ["until 10", "until 20"]),
    ):
        assert sorted(await contents_near(store, EAST, where)) == expected
        assert await texts(store, where) == expected
        assert len((await store.search_by_text(query_terms("until"), 10, where)).candidates) == len(expected)
        assert len(await store.search_by_tag({"t": 1.0}, 10, where)) == len(expected)


async def test_expiry_that_is_given_later_counts_as_well(store: Store):
    await store.store_batch([embedded(memory("x")), embedded(memory("y"))])
    await store.update("default", content_hash("x"), MemoryPatch(expires_at=50), 40)
    assert await contents_near(store, EAST, MemoryFilter(alive_at=50)) == ["y"]
    await store.update("default", content_hash("x"), MemoryPatch(expires_at=None), 60)
    assert sorted(await contents_near(store, EAST, MemoryFilter(alive_at=50))) == ["x", "y"]


async def test_as_of_a_moment_is_what_was_there_then(store: Store):
    await store.store_batch([embedded(replace(memory("until 300", at=100), expires_at=300))])
    await store.store_batch([embedded(memory("deploys on Tuesday", at=200))])
    await edit(store, TUESDAY, "deploys on Thursday", now=400)
    seen: dict[int, list[str]] = {}
    for moment in (99, 100, 200, 299, 300, 399, 400):
        live, past = MemoryFilter(as_of=moment), replace(HISTORY, as_of=moment)
        seen[moment] = sorted([*await contents_near(store, EAST, live), *await contents_near(store, EAST, past)])
    tuesday, thursday, brief = "deploys on Tuesday", "deploys on Thursday", "until 300"
    assert seen == {
        99: [],
        100: [brief],
        200: [tuesday, brief],
        299: [tuesday, brief],
        300: [tuesday],
        399: [tuesday],
        400: [thursday],
    }


async def test_pinned_memories_are_told_from_others(store: Store):
    await store.store_batch([embedded(memory("a")), embedded(replace(memory("b"), pinned=True))])
    assert await texts(store, MemoryFilter(pinned=True)) == ["b"]
    assert await texts(store, MemoryFilter(pinned=False)) == ["a"]
    await store.store_batch([embedded(replace(memory("a"), pinned=True))])
    assert await texts(store, MemoryFilter(pinned=True)) == ["a", "b"]
    await store.update("default", content_hash("b"), MemoryPatch(pinned=False), 9)
    assert await texts(store, MemoryFilter(pinned=True)) == ["a"]
    assert await contents_near(store, EAST, MemoryFilter(pinned=True)) == ["a"]


async def test_sessions_and_sources_filter_every_query(store: Store):
    items = [
        memory(f"{session} {source}", "t", session=session, source=source)
        for session in (None, "s", "S")
        for source in (None, "agent", "agent/x")
    ]
    await store.store_batch([embedded(item) for item in items])
    for where, expected in (
        (MemoryFilter(session="s"), ["s None", "s agent", "s agent/x"]),
        (MemoryFilter(source="agent"), ["None agent", "S agent", "s agent"]),
        (MemoryFilter(session="S", source="agent/x"), ["S agent/x"]),
        (MemoryFilter(session="unknown"), []),
        (MemoryFilter(session="s", tags=("t",)), ["s None", "s agent", "s agent/x"]),
    ):
        assert sorted(await contents_near(store, EAST, where)) == expected
        assert await texts(store, where) == expected
        assert len(await store.search_by_tag({"t": 1.0}, 50, where)) == len(expected)
        words = await store.search_by_text(query_terms("agent"), 50, where)
        assert len(words.candidates) == sum("agent" in each for each in expected)


METADATA: list[dict[str, JsonValue]] = [
    {"n": 1}, {"n": 1.0}, {"n": True}, {"n": "1"}, {"n": None}, {"n": [1]}, {"n": {"m": 1}}, {"n": 0}, {"n": False},
    {"a.b": "x"}, {"a": {"b": "x"}}, {'we"ird]\\': "ü"}, {"": "empty"}, {"n": "x" * 5_000}, {"n": 2**62},
    {"n": 0.1}, {},
]  # fmt: skip


ASKED: list[tuple[MetadataIs, list[int]]] = [
    (MetadataIs("n", 1), [0, 1]),
    (MetadataIs("n", 1.0), [0, 1]),
    (MetadataIs("n", True), [2]),
    (MetadataIs("n", False), [8]),
    (MetadataIs("n", 0), [7]),
    (MetadataIs("n", "1"), [3]),
    (MetadataIs("n"), [0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15]),
    (MetadataIs("a.b", "x"), [9]),
    (MetadataIs("a"), [10]),
    (MetadataIs("b", "x"), []),
    (MetadataIs('we"ird]\\', "ü"), [11]),
    (MetadataIs("", "empty"), [12]),
    (MetadataIs("n", "x" * 5_000), [13]),
    (MetadataIs("n", 2**62), [14]),
    (MetadataIs("n", 0.1), [15]),
]


async def test_metadata_is_compared_as_json(store: Store):
    items = [memory(f"number {number}", metadata=data) for number, data in enumerate(METADATA)]
    await store.store_batch([embedded(item) for item in items])
    for asked, expected in ASKED:
        where = MemoryFilter(metadata=(asked,))
        assert await texts(store, where) == sorted(f"number {number}" for number in expected), asked
        assert len(await contents_near(store, EAST, where, limit=50)) == len(expected), asked


async def test_all_of_several_metadata_must_hold(store: Store):
    await store.store_batch(
        [embedded(memory("a", metadata={"x": 1, "y": "z"})), embedded(memory("b", metadata={"x": 1}))]
    )
    assert await texts(store, MemoryFilter(metadata=(MetadataIs("x", 1), MetadataIs("y")))) == ["a"]


async def test_ids_are_found_by_their_first_digits(store: Store):
    items = [memory(f"number {number}") for number in range(30)]
    await store.store_batch([embedded(item) for item in items])
    ids = sorted(item.content_hash for item in items)
    for each in ids[:5]:
        assert await store.find_ids("default", each[:8], 10) == [found for found in ids if found[:8] == each[:8]]
        assert await store.find_ids("default", each, 10) == [each]
        assert await store.find_ids("other", each[:8], 10) == []
    assert await store.find_ids("default", "0" * 60, 10) == []
    await store.delete("default", ids[0], trashed_at=9)
    assert await store.find_ids("default", ids[0][:12], 10) == []
    assert await store.find_ids(trash_of("default"), ids[0][:12], 10) == [ids[0]]
