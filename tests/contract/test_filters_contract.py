"""Filters by type, kind and scope, inside every query of every backend."""

import pytest

from mcp_memory_service.models import MemoryFilter, content_hash, in_scope
from mcp_memory_service.storage.ports import Store

from .memories import EAST, contents_near, embedded, memory, vector

SOURCES = [
    "docs", "docs/", "docs/a.md", "docs/deep/b.md", "docs2/a.md", "docsa", "Docs/a.md", "doc", "/docs/a.md", "docs0",
    "a%b/c.md", "a_b/c.md", "axb/c.md", "größe/部署.md", "gro\u0308ße/x.md", "größe", "https://x.org/a",
    "docs//a", "🚀/x",
]  # fmt: skip
SCOPES = {
    "docs": {"docs", "docs/", "docs/a.md", "docs/deep/b.md", "docs//a"},
    "docs/": {"docs", "docs/", "docs/a.md", "docs/deep/b.md", "docs//a"},
    "docs/deep": {"docs/deep/b.md"},
    "docs/a.md": {"docs/a.md"},
    "/docs": {"/docs/a.md"},
    "/": {"/docs/a.md"},
    "a%b": {"a%b/c.md"},
    "a_b": {"a_b/c.md"},
    "%": set[str](),
    "größe": {"größe/部署.md", "größe"},
    "gro\u0308ße": {"gro\u0308ße/x.md"},
    "https://x.org": {"https://x.org/a"},
    "🚀": {"🚀/x"},
    "nowhere": set[str](),
}


def of_source(source: str | None) -> str:
    return f"tunnel of {source}"


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_is_told_by_whole_segments(scope: str):
    assert {source for source in SOURCES if in_scope(source, scope)} == SCOPES[scope]
    assert not in_scope(None, scope)


async def test_a_scope_filters_every_query(store: Store):
    items = [memory(of_source(source), "t", source=source) for source in (*SOURCES, None)]
    await store.store_batch([embedded(item) for item in items])
    for scope, sources in SCOPES.items():
        where = MemoryFilter(scope=scope)
        expected = {of_source(source) for source in sources}
        assert set(await contents_near(store, EAST, where, limit=50)) == expected, scope
        ids = {content_hash(content) for content in expected}
        assert {found.content_hash for found in await store.search_by_tag({"t": 1.0}, 50, where)} == ids
        page = await store.list_memories(where, 0, 50)
        assert ({found.content for found in page.memories}, page.total) == (expected, len(expected))


async def test_any_of_several_types_passes(store: Store):
    types = ("fix", "note", None, "odd' OR 1=1 --")
    await store.store_batch([embedded(memory(f"of {kind}", "t", memory_type=kind)) for kind in types])
    for wanted in (("fix",), ("fix", "note"), ("note", "unknown", "fix"), ("odd' OR 1=1 --",), ("unknown", "x"), ()):
        expected = {f"of {kind}" for kind in types if not wanted or kind in wanted}
        where = MemoryFilter(types=wanted)
        assert set(await contents_near(store, EAST, where)) == expected
        assert len(await store.search_by_tag({"t": 1.0}, 10, where)) == len(expected)


async def test_any_of_several_kinds_passes(store: Store):
    items = [
        memory("a", "t"),
        memory("b", "t", kind="note"),
        memory("c", "t", kind="code"),
        memory("d", "t", kind="code"),
    ]
    await store.store_batch([embedded(item) for item in items])
    for where, expected in (
        (MemoryFilter(), "abcd"),
        (MemoryFilter(kinds=("memory",)), "a"),
        (MemoryFilter(kinds=("code", "note")), "bcd"),
        (MemoryFilter(kinds=("error",)), ""),
    ):
        assert "".join(sorted(await contents_near(store, EAST, where))) == expected
        assert len(await store.search_by_tag({"t": 1.0}, 10, where)) == len(expected)
        assert (await store.list_memories(where, 0, 10)).total == len(expected)


async def test_filters_by_type_kind_and_scope_hold_together_and_never_come_back_short(store: Store):
    many = [memory(f"near {i}", kind="code", source=f"src/{i}.py", memory_type="function") for i in range(60)]
    wanted = [memory(f"far {i}", kind="note", source=f"docs/{i}.md", memory_type="chunk") for i in range(4)]
    far = (0.2, 1.0, 0.0, 0.0)
    await store.store_batch([*(embedded(item) for item in many), *(embedded(item, far) for item in wanted)])
    where = MemoryFilter(types=("chunk", "other"), kinds=("note",), scope="docs")
    found = await store.retrieve(vector(*EAST), 4, where)
    assert {candidate.content_hash for candidate in found} == {item.content_hash for item in wanted}
    assert await store.retrieve(vector(*EAST), 4, MemoryFilter(kinds=("note",), scope="src")) == []
