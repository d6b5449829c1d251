"""Sources of an in-memory store: their memories, their edges and what is known of them."""

from collections.abc import Mapping, Sequence

from ...models import Edge, EmbeddedMemory, SourceOutcome, SourceRecord, in_scope
from ..merging import check_edges, check_record, first_form, replaced
from ..ports import TextAnalyzer
from .contents import Contents, StoredMemory
from .graph import add_edges


def replace_source(
    contents: Contents,
    namespace: str,
    source: str,
    items: Mapping[str, EmbeddedMemory],
    edges: Sequence[Edge],
    record: SourceRecord | None,
    analyze: TextAnalyzer,
) -> SourceOutcome:
    """`items` by their ids, with vectors that are fit."""
    before = _memories_of(contents, namespace, source)
    for gone in before.keys() - items.keys():
        contents.remove((namespace, gone))
    updated = 0
    for content_hash, item in items.items():
        contents.edges.pop((namespace, content_hash), None)
        known = before.get(content_hash)
        memory = replaced(known.memory, item.memory) if known else first_form(item.memory)
        if known is None:
            contents.last_number += 1
            stored = StoredMemory.of(contents.last_number, memory, item.vectors, analyze)
        else:
            stored = StoredMemory.of(known.number, memory, known.vectors or item.vectors, analyze)
            updated += memory is not known.memory
        contents.put([stored])
    add_edges(contents, namespace, edges)
    _keep(contents, namespace, source, record)
    kept = len(before.keys() & items.keys())
    return SourceOutcome(len(items) - kept, updated, kept - updated, len(before) - kept)


def relink_source(contents: Contents, namespace: str, source: str, edges: Sequence[Edge], record: SourceRecord) -> None:
    there = _memories_of(contents, namespace, source)
    check_record(source, record)
    check_edges(source, there, edges)
    for content_hash in there:
        contents.edges.pop((namespace, content_hash), None)
    add_edges(contents, namespace, edges)
    _keep(contents, namespace, source, record)


def list_sources(contents: Contents, namespace: str, scope: str | None, *, details: bool) -> list[SourceRecord]:
    found = [
        record if details else SourceRecord(source, record.fingerprint)
        for (owner, source), record in contents.sources.items()
        if owner == namespace and (scope is None or in_scope(source, scope))
    ]
    return sorted(found, key=lambda record: record.source)


def _memories_of(contents: Contents, namespace: str, source: str) -> dict[str, StoredMemory]:
    return {
        content_hash: stored
        for (owner, content_hash), stored in contents.memories.items()
        if owner == namespace and stored.memory.source == source and stored.memory.kind != "memory"
    }


def _keep(contents: Contents, namespace: str, source: str, record: SourceRecord | None) -> None:
    contents.sources.pop((namespace, source), None)
    if record is not None:
        contents.sources[namespace, source] = record
