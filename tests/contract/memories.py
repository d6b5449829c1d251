"""Memories and vectors for the contract tests."""

import numpy as np

from mcp_memory_service.models import (
    Edge,
    EdgeKind,
    EmbeddedMemory,
    JsonValue,
    Memory,
    MemoryFilter,
    MemoryKind,
    Vector,
    identity_hash,
)
from mcp_memory_service.storage.ports import Store

EVERYTHING = MemoryFilter()
EAST: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
NORTH: tuple[float, ...] = (0.0, 1.0, 0.0, 0.0)


def vector(*numbers: float) -> Vector:
    return np.array(numbers, dtype=np.float32)


def memory(
    content: str,
    *tags: str,
    at: int = 1_000,
    namespace: str = "default",
    memory_type: str | None = None,
    metadata: dict[str, JsonValue] | None = None,
    session: str | None = None,
    sequence: int | None = None,
    source: str | None = None,
    kind: MemoryKind = "memory",
    anchor: str | None = None,
    names: tuple[str, ...] = (),
) -> Memory:
    return Memory(
        content=content,
        content_hash=identity_hash(kind, source, anchor, content),
        created_at=at,
        updated_at=at,
        tags=tags,
        memory_type=memory_type,
        metadata=metadata or {},
        namespace=namespace,
        session=session,
        sequence=sequence,
        source=source,
        kind=kind,
        anchor=anchor,
        names=names,
    )


def note(content: str, *names: str, source: str = "docs/a.md", anchor: str | None = None, at: int = 1_000) -> Memory:
    return memory(content, at=at, source=source, anchor=anchor, kind="note", names=names)


def by_id(origin: Memory, to: Memory, kind: EdgeKind = "link", weight: float = 1.0) -> Edge:
    return Edge(origin.content_hash, to.content_hash, kind, weight, by_name=False)


def by_name(origin: Memory, to: str, kind: EdgeKind = "link", weight: float = 1.0) -> Edge:
    return Edge(origin.content_hash, to, kind, weight, by_name=True)


def embedded(stored: Memory, *vectors: tuple[float, ...]) -> EmbeddedMemory:
    return EmbeddedMemory(stored, tuple(vector(*numbers) for numbers in vectors or (EAST,)))


def toward_north(share: float) -> tuple[float, ...]:
    return (1.0 - share, share, 0.0, 0.0)


def waiting(stored: Memory) -> EmbeddedMemory:
    """One whose vectors come later."""
    return EmbeddedMemory(stored, ())


async def contents_near(store: Store, direction: tuple[float, ...], where: MemoryFilter, limit: int = 10) -> list[str]:
    found = await store.retrieve(vector(*direction), limit, where)
    memories = await store.get_many(where.namespace, [candidate.content_hash for candidate in found])
    return [stored.content for stored in memories]
