"""What is known of sources, and edges that are resolved anew; asked of every backend."""

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.support.one_memory import store_one

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.models import Edge, JsonValue, Memory, SourceRecord
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.qdrant import QdrantStorage

from .memories import EVERYTHING, by_id, by_name, embedded, memory, note

SOURCE = "docs/a.md"


def known(fingerprint: str = "f1", source: str = SOURCE, **details: JsonValue) -> SourceRecord:
    return SourceRecord(source, fingerprint, details)


async def fill(
    store: Store, *items: Memory, edges: tuple[Edge, ...] = (), record: SourceRecord | None = None, source: str = SOURCE
) -> None:
    await store.replace_source("default", source, [embedded(item) for item in items], edges, record)


# --- records


async def test_what_is_known_of_a_source_is_kept_until_it_is_replaced(store: Store):
    await fill(store, note("one"), record=known("f1", links=["b"]))
    assert await store.list_sources("default") == [known("f1", links=["b"])]
    await fill(store, note("one"), record=known("f2"))
    assert await store.list_sources("default") == [known("f2")]
    await fill(store, record=known("of an empty file"))
    assert await store.list_sources("default") == [known("of an empty file")]
    await fill(store, note("one"))
    assert await store.list_sources("default") == []


async def test_a_source_that_is_gone_is_forgotten(store: Store):
    await fill(store, note("one"), record=known())
    await fill(store)
    assert await store.list_sources("default") == []
    assert await store.count_all_memories("default") == 0


async def test_records_go_neither_with_their_memories_nor_to_another_namespace(store: Store):
    theirs = replace(note("one"), namespace="theirs")
    await fill(store, note("one"), record=known("ours"))
    await store.replace_source("theirs", SOURCE, [embedded(theirs)], [], known("theirs"))
    await store.delete("default", note("one").content_hash)
    assert await store.list_sources("default") == [known("ours")]
    assert await store.list_sources("theirs") == [known("theirs")]
    assert await store.list_sources("nobody") == []


ODD: dict[str, JsonValue] = {
    "": None,
    "numbers": [1, 1.0, True, -0.0, 1e300, 2**62, 0.1 + 0.2],
    "text": 'quotes " and \\ and \x00 and \u2028 部署 🚀',
    "deep": {"a": [{"b": [[]]}, {}], "source": "x", "kind": "memory", "fingerprint": ""},
    "long": "x" * 70_000,
}


async def test_details_come_back_as_they_went_in(store: Store):
    await fill(store, record=SourceRecord(SOURCE, "'; DROP TABLE sources; --", ODD))
    (found,) = await store.list_sources("default")
    assert found == SourceRecord(SOURCE, "'; DROP TABLE sources; --", ODD)
    assert json.dumps(found.details) == json.dumps(ODD), "1, 1.0 and true differ"


async def test_sources_are_listed_by_scope_in_order(store: Store):
    names = [
        "docs",
        "docs/a.md",
        "docs/b/c.md",
        "docs/b.md",
        "docs2/a.md",
        "Docs/a.md",
        "",
        "/docs/a.md",
        "äöü/部署.md",
    ]
    for name in names:
        await fill(store, record=known(name, name, n=1), source=name)
    assert await store.list_sources("default") == [known(name, name, n=1) for name in sorted(names)]
    for scope, inside in (
        ("docs", ["docs", "docs/a.md", "docs/b.md", "docs/b/c.md"]),
        ("docs/", ["docs", "docs/a.md", "docs/b.md", "docs/b/c.md"]),
        ("docs/b", ["docs/b/c.md"]),
        ("doc", []),
        ("/docs", ["/docs/a.md"]),
        ("äöü", ["äöü/部署.md"]),
        ("docs/a.md", ["docs/a.md"]),
    ):
        found = await store.list_sources("default", scope, details=False)
        assert found == [SourceRecord(name, name) for name in inside], scope


async def test_many_sources_are_listed(store: Store):
    # On a server each takes six requests; it gives out 500 at a time.
    many = 620 if isinstance(store, QdrantStorage) else 2_000
    records = [known(f"print {i}", f"vault/{i:05}.md", n=i) for i in range(many)]
    for start in range(0, many, 20):
        await asyncio.gather(*(fill(store, record=each, source=each.source) for each in records[start : start + 20]))
    assert await store.list_sources("default") == records
    assert await store.list_sources("default", "vault", details=False) == [
        SourceRecord(each.source, each.fingerprint) for each in records
    ]


# --- new edges for what is there


async def test_new_edges_take_the_place_of_all_that_a_source_has(store: Store):
    one, two, other = note("one", anchor="1"), note("two", anchor="2"), note("other", source="docs/b.md")
    await fill(store, one, two, edges=(by_name(one, "note:old"), by_name(two, "note:old")), record=known("f1", n=1))
    await fill(store, other, edges=(by_id(other, one),), source="docs/b.md")
    before = await store.get_embedded("default", [one.content_hash, two.content_hash])
    now = [by_name(one, "note:new", weight=0.5), by_id(one, two)]
    await store.relink_source("default", SOURCE, now, known("f1", n=2))
    ids = [one.content_hash, two.content_hash, other.content_hash]
    assert await store.edges_from("default", ids) == {
        one.content_hash: sorted(now, key=lambda edge: edge.key),
        other.content_hash: [by_id(other, one)],
    }
    assert await store.list_sources("default") == [known("f1", n=2)]
    after = await store.get_embedded("default", [one.content_hash, two.content_hash])
    assert [each.memory for each in after] == [each.memory for each in before] == [one, two]
    assert all(each.vectors for each in after)


async def test_new_edges_leave_plain_memories_alone(store: Store):
    plain = memory("plain", source=SOURCE)
    await store_one(store, embedded(plain))
    await store.add_edges("default", [by_name(plain, "note:N")])
    await store.relink_source("default", SOURCE, [], known())
    assert await store.edges_from("default", [plain.content_hash]) == {plain.content_hash: [by_name(plain, "note:N")]}
    with pytest.raises(InvalidInput):
        await store.relink_source("default", SOURCE, [by_name(plain, "note:M")], known())


async def test_a_source_that_was_never_replaced_can_be_linked(store: Store):
    by_hand = note("stored by itself")
    await store_one(store, embedded(by_hand))
    await store.relink_source("default", SOURCE, [by_name(by_hand, "note:N")], known())
    assert await store.list_sources("default") == [known()]
    assert await store.edges_from("default", [by_hand.content_hash]) == {
        by_hand.content_hash: [by_name(by_hand, "note:N")]
    }
    await fill(store, note("now"), record=known("f2"))
    assert await store.list_sources("default") == [known("f2")]
    assert await store.count_all_memories("default") == 1


async def test_edges_and_records_of_others_are_refused_before_anything_changes(store: Store):
    own, other = note("own"), note("other", source="docs/b.md")
    await fill(store, own, edges=(by_name(own, "note:N"),), record=known())
    await fill(store, other, source="docs/b.md")
    for strange in ([by_name(own, "note:M"), by_name(other, "note:M")], [by_name(note("nobody"), "note:M")]):
        with pytest.raises(InvalidInput):
            await store.relink_source("default", SOURCE, strange, known("f2"))
    with pytest.raises(InvalidInput):
        await store.relink_source("default", SOURCE, [], known("f2", "docs/b.md"))
    assert await store.list_sources("default") == [known()]
    assert await store.edges_from("default", [own.content_hash]) == {own.content_hash: [by_name(own, "note:N")]}


async def test_more_memories_than_one_request_takes_are_linked(store: Store):
    items = [note(f"chunk {i}", anchor=str(i)) for i in range(620)]
    await fill(store, *items, record=known())
    edges = [by_name(item, f"note:{i}") for i, item in enumerate(items)]
    await store.relink_source("default", SOURCE, edges, known("f2"))
    found = await store.edges_from("default", [item.content_hash for item in items])
    assert found == {edge.from_id: [edge] for edge in sorted(edges, key=lambda edge: edge.from_id)}
    assert await store.list_sources("default") == [known("f2")]


# --- several at once, and interrupted


async def state_of(store: Store) -> tuple[list[SourceRecord], set[str], list[Edge]]:
    """Read again until nothing changes meanwhile: a call that was given up may go on in another thread."""
    while True:
        records = await store.list_sources("default")
        memories = (await store.list_memories(EVERYTHING, 0, 100)).memories
        edges = await store.edges_from("default", sorted(each.content_hash for each in memories))
        if await store.list_sources("default") == records:
            return records, {each.content for each in memories}, [edge for found in edges.values() for edge in found]


async def test_of_several_writers_one_wins_with_its_record(store: Store):
    versions = {f"f{v}": [note("shared"), note(f"version {v}", anchor=str(v))] for v in range(5)}
    await asyncio.gather(*(fill(store, *items, record=known(name)) for name, items in versions.items()))
    (record,), contents, _ = await state_of(store)
    assert contents == {item.content for item in versions[record.fingerprint]}


async def test_of_several_that_link_a_source_one_wins_with_its_record(store: Store):
    items = [note(f"chunk {i}", anchor=str(i)) for i in range(3)]
    await fill(store, *items, record=known())
    edges = {f"f{v}": [by_name(item, f"note:{v}") for item in items] for v in range(5)}
    await asyncio.gather(*(store.relink_source("default", SOURCE, each, known(v)) for v, each in edges.items()))
    (record,), _, left = await state_of(store)
    assert record.fingerprint in edges, "nobody was interrupted"
    assert sorted(left, key=lambda edge: edge.key) == sorted(edges[record.fingerprint], key=lambda edge: edge.key)


async def given_up(call: Coroutine[Any, Any, object], turns: int) -> None:
    task = asyncio.ensure_future(call)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])


async def test_a_record_is_never_that_of_other_memories(store: Store):
    """Given up after more and more turns of the event loop, wherever it has come by then."""
    for turns in range(0, 90, 6):
        old, new = [note("shared"), note("old", anchor=str(turns))], [note("shared"), note(f"new {turns}")]
        await fill(store, *old, record=known("old"))
        await given_up(fill(store, *new, record=known("new")), turns)
        (record,), contents, _ = await state_of(store)
        held = {"old": old, "new": new}.get(record.fingerprint)
        assert record.fingerprint == "" or (held and contents == {item.content for item in held})
        await fill(store, *new, record=known("new"))
        assert await state_of(store) == ([known("new")], {item.content for item in new}, [])


async def test_a_record_is_never_that_of_other_edges(store: Store):
    item = note("text")
    for turns in range(0, 90, 6):
        old, new = [by_name(item, "note:old")], [by_name(item, "note:new")]
        await fill(store, item, edges=tuple(old), record=known("old"))
        await given_up(store.relink_source("default", SOURCE, new, known("new")), turns)
        (record,), _, edges = await state_of(store)
        assert record.fingerprint == "" or edges == {"old": old, "new": new}[record.fingerprint]
        await fill(store, item, edges=tuple(new), record=known("new"))
        assert await state_of(store) == ([known("new")], {"text"}, new)


async def test_an_interrupted_source_stays_listed_until_it_is_complete(store: Store):
    """New edges do not close it: what it has is still to be read. One that is removed is not forgotten half-way."""
    for turns in range(0, 90, 6):
        await fill(store, note("old"), record=known("old"))
        await given_up(fill(store), turns)
        records, contents, _ = await state_of(store)
        assert records or not contents
        if [record.fingerprint for record in records] == [""]:
            await store.relink_source("default", SOURCE, [], known("old"))
            assert [record.fingerprint for record in await store.list_sources("default")] == [""]
        await fill(store)
        assert await state_of(store) == ([], set(), [])
