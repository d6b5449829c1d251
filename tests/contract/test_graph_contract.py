"""Sources, names and edges, asked of every backend."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from tests.support.one_memory import get_one, store_one

from mcp_memory_service.errors import InvalidInput, InvalidVector
from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import Feedback, Memory, MemoryFilter, MemoryPatch, SourceOutcome, SourceRecord
from mcp_memory_service.storage.ports import Store

from .memories import EAST, EVERYTHING, NORTH, by_id, by_name, contents_near, embedded, memory, note, vector

SOURCE = "docs/a.md"


async def replace_with(store: Store, *items: Memory, source: str = SOURCE) -> SourceOutcome:
    return await store.replace_source("default", source, [embedded(item) for item in items], [])


# --- names and edges


async def test_an_edge_to_a_name_leads_there_when_somebody_has_the_name(store: Store):
    origin, target = memory("see Zeta"), note("the register", "note:Zeta register")
    await store_one(store, embedded(origin))
    edge = by_name(origin, "note:Zeta register", weight=0.5)
    assert await store.add_edges("default", [edge]) == []
    assert await store.edges_from("default", [origin.content_hash]) == {origin.content_hash: [edge]}
    assert await store.resolve("default", ["note:Zeta register"]) == {}
    assert await store.edges_to("default", [target.content_hash]) == {}
    await store_one(store, embedded(target))
    assert await store.resolve("default", ["note:Zeta register", "x"]) == {"note:Zeta register": [target.content_hash]}
    assert await store.edges_to("default", [target.content_hash]) == {target.content_hash: [edge]}


async def test_edges_come_in_the_order_of_their_keys_and_by_kind(store: Store):
    origin, one, other = memory("origin"), note("one", "note:N", "path:x"), note("other", "note:N")
    await store.store_batch([embedded(item) for item in (origin, one, other)])
    edges = [
        by_id(one, other, "contains"),
        by_id(origin, one, "mentions", 2.0),
        by_name(origin, "note:N", "link"),
        by_name(origin, "path:x", "link"),
        by_id(origin, other, "link"),
    ]
    await store.add_edges("default", edges)
    ids = [origin.content_hash, one.content_hash, other.content_hash, "0" * 64]
    by_key = sorted(edges, key=lambda edge: edge.key)
    assert await store.edges_from("default", ids) == {
        item.content_hash: [edge for edge in by_key if edge.from_id == item.content_hash] for item in (origin, one)
    }
    assert await store.edges_from("default", ids, ["contains"]) == {one.content_hash: [edges[0]]}
    leading = await store.edges_to("default", ids)
    assert leading == {
        one.content_hash: [edge for edge in by_key if edge in (edges[1], edges[2], edges[3])],
        other.content_hash: [edge for edge in by_key if edge in (edges[0], edges[2], edges[4])],
    }
    assert await store.edges_to("default", [one.content_hash], ["mentions", "calls"]) == {one.content_hash: [edges[1]]}
    assert await store.resolve("default", ["note:N"]) == {"note:N": sorted([one.content_hash, other.content_hash])}


async def test_an_edge_that_comes_again_replaces_its_weight(store: Store):
    origin = memory("origin")
    await store_one(store, embedded(origin))
    await store.add_edges("default", [by_name(origin, "note:N", weight=1.0), by_name(origin, "note:N", weight=2.0)])
    await store.add_edges("default", [by_name(origin, "note:M")])
    await store.add_edges("default", [by_name(origin, "note:N", weight=3.0)])
    assert await store.edges_from("default", [origin.content_hash]) == {
        origin.content_hash: [by_name(origin, "note:M"), by_name(origin, "note:N", weight=3.0)]
    }


async def test_edges_of_what_is_no_memory_are_not_kept(store: Store):
    there, nobody = memory("there"), memory("nobody")
    await store_one(store, embedded(there))
    assert await store.add_edges("default", [by_id(nobody, there), by_id(there, nobody)]) == [nobody.content_hash]
    await store_one(store, embedded(nobody))
    assert await store.edges_from("default", [nobody.content_hash]) == {}
    assert await store.edges_to("default", [nobody.content_hash]) == {nobody.content_hash: [by_id(there, nobody)]}


async def test_names_and_edges_go_with_their_memory_and_edges_to_it_stay(store: Store):
    origin, target = memory("origin"), note("target", "note:T")
    await store.store_batch([embedded(origin), embedded(target)])
    leading = [by_id(origin, target), by_name(origin, "note:T", "mentions")]
    await store.add_edges("default", [*leading, by_id(target, origin)])
    assert await store.delete("default", target.content_hash)
    assert await store.resolve("default", ["note:T"]) == {}
    assert await store.edges_from("default", [target.content_hash]) == {}
    assert await store.edges_to("default", [origin.content_hash]) == {}
    assert await store.edges_from("default", [origin.content_hash]) == {origin.content_hash: leading}
    await store_one(store, embedded(target))
    assert await store.edges_to("default", [target.content_hash]) == {target.content_hash: leading}
    assert await store.edges_from("default", [target.content_hash]) == {}


async def test_edges_stay_when_their_memory_changes(store: Store):
    origin = memory("origin", "a")
    await store_one(store, embedded(origin))
    edges = [by_name(origin, "note:N")]
    await store.add_edges("default", edges)
    await store_one(store, embedded(memory("origin", "b")))
    await store.update("default", origin.content_hash, MemoryPatch(metadata={"a": 1}), now=9)
    assert await store.edges_from("default", [origin.content_hash]) == {origin.content_hash: edges}
    found = await get_one(store, "default", origin.content_hash)
    assert found is not None
    assert found.tags == ("a", "b")


async def test_namespaces_do_not_see_each_others_names_and_edges(store: Store):
    ours, theirs = note("same", "note:N"), replace(note("same", "note:N"), namespace="other")
    await store.store_batch([embedded(ours), embedded(theirs)])
    edge = by_name(ours, "note:N")
    await store.add_edges("default", [edge])
    assert await store.edges_from("other", [theirs.content_hash]) == {}
    assert await store.edges_to("other", [theirs.content_hash]) == {}
    await store.delete("default", ours.content_hash)
    assert await store.resolve("default", ["note:N"]) == {}
    assert await store.resolve("other", ["note:N"]) == {"note:N": [theirs.content_hash]}


@pytest.mark.parametrize("odd", ["", "%", "_", "'; DROP TABLE edges; --", "note:Größe 部署 🚀", "a" * 500, "id:x"])
async def test_odd_names_are_only_names(store: Store, odd: str):
    origin, target = memory("origin"), note("target", odd)
    await store.store_batch([embedded(origin), embedded(target), embedded(note("another", "other"))])
    await store.add_edges("default", [by_name(origin, odd)])
    assert await store.resolve("default", [odd]) == {odd: [target.content_hash]}
    assert await store.edges_to("default", [target.content_hash]) == {target.content_hash: [by_name(origin, odd)]}


async def test_asking_for_nothing_finds_nothing(store: Store):
    assert await store.add_edges("default", []) == []
    assert await store.edges_from("default", []) == {}
    assert await store.edges_to("default", []) == {}
    assert await store.resolve("default", []) == {}
    assert await store.replace_source("default", SOURCE, [], []) == SourceOutcome(0, 0, 0, 0)


async def test_more_ids_and_edges_than_one_request_takes(store: Store):
    items = [note(f"chunk {i}", f"symbol:m.f{i}", anchor=str(i)) for i in range(620)]
    edges = [by_name(item, f"symbol:m.f{(i + 1) % len(items)}", "calls") for i, item in enumerate(items)]
    done = await store.replace_source("default", SOURCE, [embedded(item) for item in items], edges)
    assert done == SourceOutcome(created=620, updated=0, unchanged=0, deleted=0)
    ids = [item.content_hash for item in items]
    leading = await store.edges_to("default", ids)
    assert {asked: [edge.from_id for edge in found] for asked, found in leading.items()} == {
        item.content_hash: [items[i - 1].content_hash] for i, item in enumerate(items)
    }
    assert len(await store.resolve("default", [f"symbol:m.f{i}" for i in range(700)])) == 620


# --- replacing a source


async def test_a_source_is_replaced_by_what_it_has_now(store: Store):
    first = [
        note("kept", "note:K", anchor="1", at=1),
        note("changed", anchor="2", at=1),
        note("removed", anchor="3", at=1),
    ]
    assert await replace_with(store, *first) == SourceOutcome(created=3, updated=0, unchanged=0, deleted=0)
    second = [note("kept", "note:K", anchor="1", at=1), note("changed now", anchor="2", at=2)]
    assert await replace_with(store, *second) == SourceOutcome(created=1, updated=0, unchanged=1, deleted=2)
    assert sorted(await contents_near(store, EAST, EVERYTHING)) == ["changed now", "kept"]
    assert await get_one(store, "default", first[0].content_hash) == first[0]
    assert await replace_with(store, *second) == SourceOutcome(created=0, updated=0, unchanged=2, deleted=0)
    assert await replace_with(store) == SourceOutcome(created=0, updated=0, unchanged=0, deleted=2)
    assert await store.count_all_memories("default") == 0


async def test_a_text_that_stays_keeps_its_vectors_and_feedback(store: Store):
    item = note("text", anchor="1", at=1)
    await store.replace_source("default", SOURCE, [embedded(item, EAST, NORTH)], [])
    said = Feedback("query", item.content_hash, useful=True, created_at=5)
    await store.add_feedback("default", said)
    done = await store.replace_source("default", SOURCE, [embedded(item, NORTH)], [])
    assert done == SourceOutcome(created=0, updated=0, unchanged=1, deleted=0)
    (found,) = await store.get_embedded("default", [item.content_hash])
    assert found.memory == item
    assert np.allclose(found.vectors, (EAST, NORTH))
    assert await store.list_feedback("default") == [said]


async def test_the_times_of_a_source_are_those_it_has_now(store: Store):
    """Found by them as well, before and after, whatever index has seen the old ones."""
    item = replace(note("text", anchor="1", at=5), updated_at=6)
    await replace_with(store, item)
    assert [found.created_at for found in await store.retrieve(vector(*EAST), 5, MemoryFilter(before=7))] == [5]
    now = replace(item, created_at=8, updated_at=9)
    assert await replace_with(store, now) == SourceOutcome(created=0, updated=1, unchanged=0, deleted=0)
    assert await get_one(store, "default", item.content_hash) == now
    assert await contents_near(store, EAST, MemoryFilter(before=7)) == []
    assert await contents_near(store, EAST, MemoryFilter(after=8)) == ["text"]
    (found,) = (await store.search_by_text(query_terms("text"), 5, EVERYTHING)).candidates
    assert found.created_at == 8
    assert [kept.created_at for kept in (await store.list_memories(EVERYTHING, 0, 5)).memories] == [8]


async def test_all_but_the_text_is_taken_from_the_source(store: Store):
    item = replace(note("text", "note:A", at=1), tags=("a",), metadata={"a": 1}, memory_type="chunk")
    await replace_with(store, item)
    now = replace(note("text", "note:B", at=2), tags=("b",), metadata={"b": 1}, sequence=3, session="s")
    assert await replace_with(store, now) == SourceOutcome(created=0, updated=1, unchanged=0, deleted=0)
    assert await get_one(store, "default", item.content_hash) == now
    assert [tag.tag for tag in await store.get_all_tags("default")] == ["b"]
    assert await store.resolve("default", ["note:A", "note:B"]) == {"note:B": [item.content_hash]}


async def test_the_edges_of_a_source_are_those_it_has_now(store: Store):
    kept, other = note("kept", anchor="1"), note("other", "note:O", source="docs/b.md")
    await replace_with(store, other, source="docs/b.md")
    items = [embedded(kept)]
    await store.replace_source("default", SOURCE, items, [by_name(kept, "note:O"), by_name(kept, "note:gone")])
    now = [by_name(kept, "note:O", weight=2.0), by_name(kept, "note:new")]
    await store.add_edges("default", [by_id(other, kept)])
    await store.replace_source("default", SOURCE, items, now)
    assert await store.edges_from("default", [kept.content_hash]) == {
        kept.content_hash: sorted(now, key=lambda edge: edge.key)
    }
    assert await store.edges_to("default", [kept.content_hash]) == {kept.content_hash: [by_id(other, kept)]}


async def test_feedback_goes_with_what_a_source_has_lost(store: Store):
    await replace_with(store, note("gone"))
    await store.add_feedback("default", Feedback("query", note("gone").content_hash, useful=True, created_at=5))
    await replace_with(store)
    await replace_with(store, note("gone"))
    assert await store.list_feedback("default") == []


async def test_plain_memories_and_other_sources_are_left_alone(store: Store):
    plain, other = memory("plain", source=SOURCE), note("text", source="docs/a.md/deeper")
    elsewhere = replace(note("text"), namespace="other")
    await store.store_batch([embedded(plain), embedded(other), embedded(elsewhere)])
    by_hand = note("stored by itself")
    await store_one(store, embedded(by_hand))
    assert await replace_with(store, note("text")) == SourceOutcome(created=1, updated=0, unchanged=0, deleted=1)
    assert await store.get_many("default", [plain.content_hash, other.content_hash]) == [plain, other]
    assert await store.get_many("other", [elsewhere.content_hash]) == [elsewhere]


async def test_a_text_that_stands_at_one_place_twice_is_one_memory(store: Store):
    done = await replace_with(store, note("same", "note:A"), note("same", "note:B"))
    assert done == SourceOutcome(created=1, updated=0, unchanged=0, deleted=0)
    found = await get_one(store, "default", note("same").content_hash)
    assert found is not None
    assert found.names == ("note:A", "note:B")


async def test_what_does_not_belong_to_a_source_is_refused_before_anything_changes(store: Store):
    there = note("there")
    await replace_with(store, there)
    for item in (memory("plain", source=SOURCE), note("x", source="b.md"), replace(note("x"), namespace="other")):
        with pytest.raises(InvalidInput):
            await replace_with(store, note("new"), item)
    with pytest.raises(InvalidInput):
        await store.replace_source("default", SOURCE, [embedded(note("new"))], [by_name(there, "note:N")])
    with pytest.raises(InvalidVector):
        await store.replace_source("default", SOURCE, [embedded(note("new"), (0.0,) * 4)], [])
    with pytest.raises(InvalidInput):
        await store.replace_source("default", SOURCE, [], [], SourceRecord("b.md", "f"))
    assert await contents_near(store, EAST, EVERYTHING) == ["there"]


async def test_of_several_writers_of_one_source_one_wins_whole(store: Store):
    versions = [[note("shared"), *(note(f"version {v} chunk {i}", anchor=str(i)) for i in range(3))] for v in range(5)]
    await asyncio.gather(*(replace_with(store, *items) for items in versions))
    page = await store.list_memories(EVERYTHING, 0, 50)
    left = {found.content for found in page.memories}
    assert left in [{item.content for item in items} for items in versions]


async def test_after_an_interruption_the_same_call_completes_it(store: Store):
    """Given up after more and more turns of the event loop, wherever it has come by then."""
    for turns in range(0, 60, 6):
        await replace_with(store, note("shared"), note("old", anchor=str(turns)))
        now = [note("shared"), note(f"new {turns}", "note:N")]
        items, edges = [embedded(item) for item in now], [by_id(now[0], now[1])]
        given_up = asyncio.create_task(store.replace_source("default", SOURCE, items, edges))
        for _ in range(turns):
            await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.wait([given_up])
        await store.replace_source("default", SOURCE, items, edges)
        page = await store.list_memories(EVERYTHING, 0, 50)
        assert {found.content for found in page.memories} == {item.content for item in now}
        assert await store.edges_from("default", [now[0].content_hash]) == {now[0].content_hash: edges}


async def test_edges_that_are_added_at_once_are_all_kept(store: Store):
    origin = memory("origin")
    await store_one(store, embedded(origin))
    edges = [by_name(origin, f"note:{i}") for i in range(12)]
    await asyncio.gather(*(store.add_edges("default", [edge]) for edge in edges))
    found = await store.edges_from("default", [origin.content_hash])
    assert found == {origin.content_hash: sorted(edges, key=lambda edge: edge.key)}
