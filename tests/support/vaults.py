"""Folders of notes for tests, and what a store has of them."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_memory_service.models import MemoryFilter
from mcp_memory_service.storage.ports import Store

PART = 1_000


def write(folder: Path, notes: Mapping[str, str | bytes]) -> Path:
    """The folder with these files in it, by their paths."""
    for path, text in notes.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    folder.mkdir(exist_ok=True)
    return folder


def age(file: Path, seconds: int = 100) -> None:
    """Make a file older, as those are that were not just written."""
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns - seconds * 1_000_000_000))


async def indexed(store: Store, namespace: str = "default", *, dates: bool = True) -> dict[str, Any]:
    """All that a store has of documents: the chunks, their edges and the records of the files."""
    found = await store.list_memories(MemoryFilter(namespace, kinds=("note",)), 0, PART)
    assert found.total <= PART
    memories = {
        memory.content_hash: memory if dates else replace(memory, created_at=0, updated_at=0)
        for memory in found.memories
    }
    records = await store.list_sources(namespace)
    return {
        "memories": memories,
        "edges": await store.edges_from(namespace, list(memories)),
        # What a fingerprint says of dates is no part of what is known.
        "records": {record.source: record.details for record in records},
    }
