"""What memories are linked with, asked of every backend."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.one_memory import store_one

from mcp_memory_service.models import LINK_KINDS, Candidate, Edge, EdgeKind, Linked, Memory, MemoryFilter
from mcp_memory_service.storage.links import MAX_LINKS, MAX_NAMED
from mcp_memory_service.storage.ports import Store

from .memories import EVERYTHING, by_id, by_name, embedded, memory, note

LIMIT = 1_000


async def stored(store: Store, *items: Memory) -> None:
    await store.store_batch([embedded(item) for item in items])


def end(found: Memory) -> Candidate:
    return Candidate(found.content_hash, found.created_at, 0.0, found.session, found.sequence)


def reached(to: Memory, asked: Memory, edge: Edge, degree: int = 1, far_degree: int = 1) -> Linked:
    return Linked(end(to), asked.content_hash, edge, degree, far_degree)


async def linked_with(
    store: Store, *asked: Memory, limit: int = LIMIT, where: MemoryFilter = EVERYTHING
) -> list[Linked]:
    return list(await store.linked([each.content_hash for each in asked], limit, where))


def chunk(document: str, sequence: int, *names: str, at: int = 1_000) -> Memory:
    made = note(f"{document} {sequence}", f"note:{document}", *names, source=document, anchor=str(sequence), at=at)
    return replace(made, sequence=sequence)


async def test_nothing_is_linked_where_there_are_no_edges(store: Store):
    await stored(store, memory("one"), note("other", "note:other"))
    assert await linked_with(store, memory("one"), note("other"), memory("nobody")) == []
    assert await store.linked([], LIMIT, EVERYTHING) == []


async def test_links_lead_both_ways(store: Store):
    origin, target = memory("origin"), memory("target", session="s", sequence=3)
    edge = by_id(origin, target, weight=0.5)
    await stored(store, origin, target)
    await store.add_edges("default", [edge])
    out, back = await linked_with(store, origin), await linked_with(store, target)
    assert out == [reached(target, origin, edge)]
    assert back == [reached(origin, target, edge)]
    assert (out[0].is_outgoing, back[0].is_outgoing) == (True, False)


async def test_a_link_to_a_name_leads_to_all_that_have_it_in_their_order(store: Store):
    origin, chunks = memory("origin"), [chunk("b.md", sequence) for sequence in (2, 0, 1)]
    without_place = note("b", "note:b.md", source="b.md")
    edge = by_name(origin, "note:b.md")
    await stored(store, origin, *chunks, without_place)
    await store.add_edges("default", [edge])
    in_order = [chunks[1], chunks[2], chunks[0], without_place]
    assert await linked_with(store, origin) == [reached(each, origin, edge) for each in in_order]
    for each in in_order:
        assert await linked_with(store, each) == [reached(origin, each, edge)]


async def test_a_link_to_a_heading_leads_to_its_chunk_alone(store: Store):
    origin, chunks = memory("origin"), [chunk("b.md", 0, "note:b.md#intro"), chunk("b.md", 1, "note:b.md#use")]
    edge = by_name(origin, "note:b.md#use")
    await stored(store, origin, *chunks)
    await store.add_edges("default", [edge])
    assert await linked_with(store, origin) == [reached(chunks[1], origin, edge)]
    assert await linked_with(store, *chunks) == [reached(origin, chunks[1], edge)]


async def test_they_come_in_the_order_asked_and_out_before_back(store: Store):
    first, second, third = memory("first"), memory("second"), memory("third")
    edges = [by_id(second, first), by_id(first, third, "mentions"), by_id(first, second, "calls"), by_id(third, second)]
    await stored(store, first, second, third)
    await store.add_edges("default", edges)
    asked = [second, first]
    found = await linked_with(store, *asked)
    assert found == [
        reached(first, second, edges[0]),
        *sorted(
            [reached(first, second, edges[2], 2, 2), reached(third, second, edges[3], 2, 1)],
            key=lambda each: each.edge.key,
        ),
        reached(second, first, edges[2], 2, 2),
        reached(third, first, edges[1], 2, 1),
        reached(second, first, edges[0], 1, 1),
    ]
    assert await linked_with(store, *asked, limit=3) == found[:3]
    assert await linked_with(store, second, first, second) == found


@pytest.mark.parametrize("kind", [*LINK_KINDS, "supersedes"])
async def test_every_kind_but_supersedes_is_a_link(store: Store, kind: EdgeKind):
    origin, target = memory("origin"), memory("target")
    await stored(store, origin, target)
    await store.add_edges("default", [by_id(origin, target, kind)])
    assert len(await linked_with(store, origin)) == (kind != "supersedes")
    assert len(await linked_with(store, target)) == (kind != "supersedes")


async def test_degrees_count_the_edges_at_both_ends(store: Store):
    hub, others = memory("hub"), [memory(f"other {number}") for number in range(3)]
    await stored(store, hub, *others)
    await store.add_edges("default", [by_id(each, hub) for each in others])
    await store.add_edges("default", [by_id(others[0], hub, "calls"), by_id(others[0], others[1])])
    outgoing = await linked_with(store, others[0])
    assert [(each.edge.kind, each.edge.to, each.degree, each.far_degree) for each in outgoing] == [
        ("calls", hub.content_hash, 3, 3),
        *sorted([("link", hub.content_hash, 3, 3), ("link", others[1].content_hash, 3, 1)]),
    ]
    incoming = await linked_with(store, hub)
    assert {(each.candidate.content_hash, each.degree, each.far_degree) for each in incoming} == {
        (others[0].content_hash, 4, 3),
        (others[1].content_hash, 4, 1),
        (others[2].content_hash, 4, 1),
    }


async def test_a_hub_leads_nowhere(store: Store):
    hub, index, others = note("hub", "note:hub"), memory("index"), [memory(f"other {n}") for n in range(MAX_LINKS + 1)]
    await stored(store, hub, index, *others)
    await store.add_edges("default", [by_name(each, "note:hub") for each in others])
    await store.add_edges("default", [by_id(index, each) for each in others])
    await store.add_edges("default", [by_id(hub, index)])
    assert await linked_with(store, hub) == [reached(index, hub, by_id(hub, index))]
    assert await linked_with(store, index) == [reached(hub, index, by_id(hub, index))]
    to_hub, from_index = await linked_with(store, others[0])
    assert to_hub == reached(hub, others[0], by_name(others[0], "note:hub"), 1, MAX_LINKS)
    assert from_index == reached(index, others[0], by_id(index, others[0]), 1, MAX_LINKS)


async def test_one_edge_fewer_is_no_hub(store: Store):
    hub, others = memory("hub"), [memory(f"other {number}") for number in range(MAX_LINKS)]
    await stored(store, hub, *others)
    await store.add_edges("default", [by_id(hub, each) for each in others])
    assert len(await linked_with(store, hub)) == MAX_LINKS


async def test_of_a_long_document_the_first_chunks_are_found(store: Store):
    origin, chunks = memory("origin"), [chunk("b.md", sequence) for sequence in range(MAX_NAMED + 1)]
    await stored(store, origin, *reversed(chunks))
    await store.add_edges("default", [by_name(origin, "note:b.md")])
    found = await linked_with(store, origin)
    assert [each.candidate.sequence for each in found] == list(range(MAX_NAMED))


async def test_filters_hold_for_what_is_linked_and_not_for_what_is_asked(store: Store):
    origin, old, new = memory("origin", "here"), chunk("b.md", 0, at=1), chunk("b.md", 1, at=5_000)
    pointing = memory("pointing", at=2)
    await stored(store, origin, old, new, pointing)
    edges = [by_name(origin, "note:b.md"), by_id(pointing, origin)]
    await store.add_edges("default", edges)
    assert await linked_with(store, origin, where=MemoryFilter(after=2_000)) == [reached(new, origin, edges[0])]
    assert await linked_with(store, origin, where=MemoryFilter(before=2)) == [reached(old, origin, edges[0])]
    assert await linked_with(store, origin, where=MemoryFilter(kinds=("memory",))) == [
        reached(pointing, origin, edges[1])
    ]
    assert await linked_with(store, origin, where=MemoryFilter(tags=("here",))) == []
    assert await linked_with(store, origin, where=MemoryFilter(scope="b.md", before=2)) == [
        reached(old, origin, edges[0])
    ]


async def test_links_stay_within_their_namespace(store: Store):
    origin, target = note("origin", "note:origin"), note("target", "note:target")
    elsewhere = [replace(each, namespace="other") for each in (origin, target)]
    await stored(store, origin, target, *elsewhere)
    await store.add_edges("other", [by_id(origin, target), by_name(target, "note:origin")])
    assert await linked_with(store, origin, target) == []
    await store.add_edges("default", [by_id(origin, target)])
    assert await linked_with(store, origin) == [reached(target, origin, by_id(origin, target))]


async def test_what_an_edge_leads_to_may_not_be_there_yet(store: Store):
    origin, target = memory("origin"), chunk("b.md", 0)
    edges = [by_id(origin, memory("nobody")), by_name(origin, "note:b.md")]
    await stored(store, origin)
    await store.add_edges("default", edges)
    assert await linked_with(store, origin) == []
    await store_one(store, embedded(target))
    assert await linked_with(store, origin) == [reached(target, origin, edges[1], degree=2)]
    await store.delete("default", target.content_hash)
    assert await linked_with(store, origin) == []


async def test_no_memory_is_linked_with_itself(store: Store):
    first, second = chunk("a.md", 0), chunk("a.md", 1)
    await stored(store, first, second)
    edges = [by_id(first, first), by_name(first, "note:a.md", "mentions")]
    await store.add_edges("default", edges)
    assert await linked_with(store, first) == [reached(second, first, edges[1], degree=2)]
    assert await linked_with(store, second) == [reached(first, second, edges[1], far_degree=2)]


async def test_a_circle_of_links_ends(store: Store):
    one, other = memory("one"), memory("other")
    edges = [by_id(one, other), by_id(other, one)]
    await stored(store, one, other)
    await store.add_edges("default", edges)
    assert await linked_with(store, one, other) == [
        reached(other, one, edges[0]),
        reached(other, one, edges[1]),
        reached(one, other, edges[1]),
        reached(one, other, edges[0]),
    ]


MEMORIES = [memory("one"), chunk("a.md", 0, "note:a.md#x"), chunk("a.md", 1), chunk("b.md", 0), memory("two")]
TARGETS = [("id", each.content_hash) for each in MEMORIES] + [
    ("name", name) for name in ("note:a.md", "note:a.md#x", "note:b.md", "note:none")
]
KINDS: list[EdgeKind] = ["link", "mentions", "supersedes"]


@st.composite
def edges_between(draw: st.DrawFn) -> Edge:
    origin, (way, to) = draw(st.sampled_from(MEMORIES)), draw(st.sampled_from(TARGETS))
    return Edge(origin.content_hash, to, draw(st.sampled_from(KINDS)), by_name=way == "name")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(edges_between(), max_size=12))
async def test_links_are_those_of_edges_from_and_edges_to(store: Store, edges: list[Edge]):
    await stored(store, *MEMORIES)
    ids = [each.content_hash for each in MEMORIES]
    for each in ids:
        await store.delete("default", each)
    await stored(store, *MEMORIES)
    await store.add_edges("default", edges)
    found = await linked_with(store, *MEMORIES)
    seen = {(each.asked, each.edge, each.candidate.content_hash) for each in found}
    assert len(seen) == len(found)
    out = await store.edges_from("default", ids, LINK_KINDS)
    named = await store.resolve("default", [name for way, name in TARGETS if way == "name"])
    expected = {
        (asked, edge, to)
        for asked, its in out.items()
        for edge in its
        for to in (named.get(edge.to, []) if edge.by_name else [edge.to])
    } | {
        (asked, edge, edge.from_id)
        for asked, its in (await store.edges_to("default", ids, LINK_KINDS)).items()
        for edge in its
    }
    assert seen == {(asked, edge, other) for asked, edge, other in expected if asked != other}
