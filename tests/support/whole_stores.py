"""Whole stores, filled and compared."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from tests.contract.memories import memory
from tests.support.fakes import WordEmbedder

from mcp_memory_service.models import EmbeddedMemory, Memory
from mcp_memory_service.storage.ports import Store

Contents: TypeAlias = dict[tuple[str, str], tuple[Memory, NDArray[np.float32]]]
"""Every memory by namespace and hash, with its vectors."""


def notes(count: int) -> list[EmbeddedMemory]:
    """Of two namespaces, with everything a memory can have, every other one with two chunks."""
    made = [
        memory(
            f"note {i} about topic {i % 7}",
            f"Topic{i % 7}",
            "note",
            at=i,
            namespace=("default", "team")[i % 5 == 0],
            memory_type="fix" if i % 3 else None,
            metadata={"n": i, "f": 1.0, "deep": {"list": [None, "ü"]}},
            session="s" if i % 2 else None,
            sequence=i if i % 2 else None,
            source="test",
        )
        for i in range(count)
    ]
    return [
        EmbeddedMemory(note, tuple(WordEmbedder.vector(f"{note.content} {part}") for part in range(1 + number % 2)))
        for number, note in enumerate(made)
    ]


async def contents(store: Store) -> Contents:
    found: Contents = {}
    cursor: str | None = None
    while True:
        part = await store.scan(cursor, 500)
        found |= {
            (item.memory.namespace, item.memory.content_hash): (item.memory, np.array(item.vectors, np.float32))
            for item in part.items
        }
        cursor = part.cursor
        if cursor is None:
            return found


def assert_equal(one: Contents, other: Contents) -> None:
    assert one.keys() == other.keys()
    for key, (kept, vectors) in one.items():
        assert other[key][0] == kept
        assert np.allclose(other[key][1], vectors, atol=1e-6)
