"""What makes two memories one, asked of every backend."""

import pytest
from tests.support.one_memory import get_one, store_one

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.models import MAX_NAMES, MemoryKind, MemoryPatch, content_hash, identity_hash
from mcp_memory_service.storage.ports import Store

from .memories import EAST, EVERYTHING, contents_near, embedded, memory, note

KINDS: tuple[MemoryKind, ...] = ("memory", "note", "code", "decision", "error")


def test_a_plain_memory_is_its_text():
    assert identity_hash("memory", "docs/a.md", "Heading", " text ") == content_hash("text")


def test_every_part_tells_other_kinds_apart():
    parts: list[tuple[MemoryKind, str | None, str | None, str]] = [
        ("note", "a", "b", "c"),
        ("code", "a", "b", "c"),
        ("note", "ab", "", "c"),
        ("note", "ab", None, "c"),
        ("note", None, "b", "c"),
        ("note", "a", 'b","c', ""),
        ("note", "a", "b", "d"),
    ]
    ids = [identity_hash(kind, source, anchor, content) for kind, source, anchor, content in parts]
    assert len(set(ids)) == len(ids)
    assert identity_hash("note", "a", "b", " cafe\u0301\n") == identity_hash("note", "a", "b", "café")


async def test_a_memory_of_every_kind_comes_back_whole(store: Store):
    items = [
        memory(
            f"text {kind}", "t", kind=kind, source="docs/ü.md", anchor="Größe › 部署", names=("note:Zeta 'x'", "path:%")
        )
        for kind in KINDS
    ]
    outcomes = await store.store_batch([embedded(item) for item in items])
    assert [(outcome.memory, outcome.created) for outcome in outcomes] == [(item, True) for item in items]
    assert await store.get_many("default", [item.content_hash for item in items]) == items
    assert sorted(await contents_near(store, EAST, EVERYTHING)) == sorted(item.content for item in items)


async def test_the_same_paragraph_in_two_files_is_two_memories(store: Store):
    one, other = note("same words", source="a.md"), note("same words", source="b.md")
    plain = memory("same words", source="a.md")
    await store.store_batch([embedded(item) for item in (one, other, plain)])
    assert len({item.content_hash for item in (one, other, plain)}) == 3
    assert await store.count_all_memories("default") == 3
    assert await store.delete("default", one.content_hash)
    assert await store.get_many("default", [other.content_hash, plain.content_hash]) == [other, plain]


async def test_stored_again_a_memory_unites_its_names(store: Store):
    await store_one(store, embedded(note("text", "note:A", "note:B", at=1)))
    outcome = await store_one(store, embedded(note("text", "note:B", "note:C", at=2)))
    assert (outcome.created, outcome.memory.names, outcome.memory.updated_at) == (
        False,
        ("note:A", "note:B", "note:C"),
        2,
    )
    again = await store_one(store, embedded(note("text", "note:C", at=3)))
    assert again.memory == outcome.memory
    with pytest.raises(InvalidInput, match="at most 100"):
        await store_one(store, embedded(note("text", *(f"note:{i}" for i in range(MAX_NAMES)))))


async def test_a_patch_leaves_kind_anchor_and_names_alone(store: Store):
    stored = memory("text", "t", kind="decision", source="adr/1.md", anchor="Decision", names=("note:ADR 1",))
    await store_one(store, embedded(stored))
    await store.update("default", stored.content_hash, MemoryPatch(tags=("u",), metadata={"a": 1}), now=9)
    found = await get_one(store, "default", stored.content_hash)
    assert found is not None
    assert (found.kind, found.anchor, found.names, found.tags) == ("decision", "Decision", ("note:ADR 1",), ("u",))
