"""Sources: their memories, and what is known of them; each takes a connection and runs inside one transaction or one
snapshot."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

import apsw

from ....models import Edge, EmbeddedMemory, Memory, SourceOutcome, SourceRecord
from ...merging import check_edges, replaced
from ...ports import TextAnalyzer
from ..rows import MEMORY_COLUMNS, in_scope, memory_from_row
from .graph import add_edges
from .writes import delete_memory, give_vectors, insert_memory, save_changes


def replace_source(
    connection: apsw.Connection,
    namespace: str,
    source: str,
    items: Mapping[str, EmbeddedMemory],
    edges: Sequence[Edge],
    record: SourceRecord | None,
    analyze: TextAnalyzer,
) -> SourceOutcome:
    """`items` by their ids."""
    existing = _memories_of(connection, namespace, source)
    gone = existing.keys() - items.keys()
    for content_hash in gone:
        delete_memory(connection, namespace, content_hash)
    updated = 0
    for content_hash, item in items.items():
        if content_hash not in existing:
            insert_memory(connection, item.memory, item.vectors, analyze)
            continue
        memory_id, old = existing[content_hash]
        new = replaced(old, item.memory)
        save_changes(connection, memory_id, old, new, analyze)
        give_vectors(connection, memory_id, item.vectors)
        updated += new is not old
        connection.execute("DELETE FROM edges WHERE memory_id = ?", (memory_id,))
    add_edges(connection, namespace, edges)
    _keep(connection, namespace, source, record)
    kept = len(existing) - len(gone)
    return SourceOutcome(len(items) - kept, updated, kept - updated, len(gone))


def relink_source(
    connection: apsw.Connection, namespace: str, source: str, edges: Sequence[Edge], record: SourceRecord
) -> None:
    ids = connection.execute(
        "SELECT content_hash, id FROM memories WHERE namespace = ? AND source = ? AND kind IS NOT NULL",
        (namespace, source),
    ).fetchall()
    by_hash = dict(cast("list[tuple[str, int]]", ids))
    check_edges(source, by_hash, edges)
    connection.executemany("DELETE FROM edges WHERE memory_id = ?", [(memory_id,) for memory_id in by_hash.values()])
    add_edges(connection, namespace, edges)
    _keep(connection, namespace, source, record)


def list_sources(
    connection: apsw.Connection, namespace: str, scope: str | None, *, details: bool
) -> list[SourceRecord]:
    within, values = ("", ()) if scope is None else in_scope("source", scope)
    rows = connection.execute(
        f"""
        SELECT source, fingerprint, {"details" if details else "'{}'"} FROM sources
        WHERE namespace = ? {within and f"AND {within}"} ORDER BY source
        """,  # noqa: S608
        (namespace, *values),
    )
    if not details:
        return [SourceRecord(source, fingerprint) for source, fingerprint, _ in rows]
    return [SourceRecord(source, fingerprint, json.loads(kept)) for source, fingerprint, kept in rows]


def _memories_of(connection: apsw.Connection, namespace: str, source: str) -> dict[str, tuple[int, Memory]]:
    rows = connection.execute(
        f"""
        SELECT m.id, {MEMORY_COLUMNS} FROM memories m
        WHERE m.namespace = ? AND m.source = ? AND m.kind IS NOT NULL ORDER BY m.id
        """,  # noqa: S608
        (namespace, source),
    )
    found = ((cast("int", row[0]), memory_from_row(row[1:])) for row in rows)
    return {memory.content_hash: (memory_id, memory) for memory_id, memory in found}


def _keep(connection: apsw.Connection, namespace: str, source: str, record: SourceRecord | None) -> None:
    if record is None:
        connection.execute("DELETE FROM sources WHERE namespace = ? AND source = ?", (namespace, source))
        return
    details = json.dumps(record.details, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    connection.execute(
        "INSERT OR REPLACE INTO sources (namespace, source, fingerprint, details) VALUES (?, ?, ?, ?)",
        (namespace, source, record.fingerprint, details),
    )
