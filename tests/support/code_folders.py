"""What a store has of a folder of code."""

from dataclasses import replace
from typing import Any

from mcp_memory_service.models import Edge, Memory, MemoryFilter, code_of
from mcp_memory_service.services.code.known_files import KnownFile, is_known
from mcp_memory_service.storage.ports import Store

PART = 1_000


async def symbols_in(store: Store, namespace: str = "default") -> dict[str, Memory]:
    """By their qualified names."""
    found = await store.list_memories(MemoryFilter(code_of(namespace), kinds=("code",)), 0, PART)
    assert found.total <= PART
    return {memory.anchor or "": memory for memory in found.memories}


async def edges_in(store: Store, namespace: str = "default") -> set[tuple[str, str, str]]:
    """From, kind and to, by qualified names or as the store has them; without what only says where a symbol stands."""
    symbols = await symbols_in(store, namespace)
    called = {memory.content_hash: name for name, memory in symbols.items()}
    edges = await store.edges_from(code_of(namespace), list(called))
    return {
        (called[edge.from_id], edge.kind, _shown(edge))
        for its in edges.values()
        for edge in its
        if edge.kind != "contains"
    }


def _shown(edge: Edge) -> str:
    return edge.to.rpartition(":")[2] if edge.by_name else edge.to.partition(":")[0] + ":" + edge.to.rpartition(":")[2]


async def indexed_code(store: Store, namespace: str = "default") -> dict[str, Any]:
    """All that a store has of code: symbols, edges and records, without when anything was seen."""
    place = code_of(namespace)
    found = await store.list_memories(MemoryFilter(place, kinds=("code",)), 0, PART)
    assert found.total <= PART
    records = [each for each in await store.list_sources(place) if is_known(each)]
    return {
        "symbols": {memory.content_hash: _timeless(memory) for memory in found.memories},
        "edges": await store.edges_from(place, [memory.content_hash for memory in found.memories]),
        "files": {
            file.source: replace(file, fingerprint="", symbols=_ids(file)) for file in map(KnownFile.of, records)
        },
        "refused": {
            each.source: each.details["refused"]
            for each in await store.list_sources(place)
            if "refused" in each.details
        },
    }


def _timeless(memory: Memory) -> Memory:
    return replace(memory, created_at=0, updated_at=0, metadata={**memory.metadata, "since": 0})


def _ids(file: KnownFile) -> Any:
    return tuple(symbol._replace(since=0) for symbol in file.symbols)
