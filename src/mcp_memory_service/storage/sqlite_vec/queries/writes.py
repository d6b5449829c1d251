"""The changes; each takes a connection and runs inside one write transaction."""

from collections.abc import Sequence
from dataclasses import replace

import apsw

from ....models import Memory, MemoryPatch, StoreOutcome, Vector, fold_tag
from ...merging import apply_patch, unite, unite_tags
from ...ports import TextAnalyzer
from ..rows import find_memory, metadata_to_json
from ..schema import insert_words


def store_memory(
    connection: apsw.Connection, memory: Memory, vectors: Sequence[Vector], analyze: TextAnalyzer
) -> StoreOutcome:
    found = find_memory(connection, memory.namespace, memory.content_hash)
    if found is None:
        return _insert(connection, memory, vectors, analyze)
    memory_id, existing = found
    united = unite(existing, memory)
    _save_changes(connection, memory_id, existing, united, analyze)
    return StoreOutcome(memory=united, created=False)


def patch_memory(
    connection: apsw.Connection,
    namespace: str,
    content_hash: str,
    patch: MemoryPatch,
    now: int,
    analyze: TextAnalyzer,
) -> Memory | None:
    found = find_memory(connection, namespace, content_hash)
    if found is None:
        return None
    memory_id, existing = found
    patched = apply_patch(existing, patch, now)
    _save_changes(connection, memory_id, existing, patched, analyze)
    return patched


def delete_memory(connection: apsw.Connection, namespace: str, content_hash: str) -> bool:
    """Reads nothing of it: what cannot be read can still be deleted."""
    row = connection.execute(
        "SELECT id FROM memories WHERE namespace = ? AND content_hash = ?", (namespace, content_hash)
    ).fetchone()
    if row is None:
        return False
    (memory_id,) = row
    connection.execute("DELETE FROM memory_tags WHERE memory_id = ?", (memory_id,))
    connection.execute("DELETE FROM vectors WHERE memory_id = ?", (memory_id,))
    connection.execute("DELETE FROM memory_words WHERE memory_id = ?", (memory_id,))
    connection.execute("DELETE FROM feedback WHERE memory_id = ?", (memory_id,))
    connection.execute("DELETE FROM memories WHERE id = ?", (memory_id,))
    return True


def touch(connection: apsw.Connection) -> None:
    """A write that changes nothing."""
    connection.execute("UPDATE store_info SET value = value WHERE key = 'tags_version'")


def _insert(
    connection: apsw.Connection, memory: Memory, vectors: Sequence[Vector], analyze: TextAnalyzer
) -> StoreOutcome:
    memory_id = connection.execute(
        """
        INSERT INTO memories (namespace, content_hash, created_at, updated_at, memory_type, source, session, sequence,
            metadata, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (
            memory.namespace,
            memory.content_hash,
            memory.created_at,
            memory.updated_at,
            memory.memory_type,
            memory.source,
            memory.session,
            memory.sequence,
            metadata_to_json(memory.metadata),
            memory.content,
        ),
    ).get
    connection.executemany(
        "INSERT INTO vectors (memory_id, embedding) VALUES (?, ?)",
        [(memory_id, vector.tobytes()) for vector in vectors],
    )
    tags = unite_tags(memory.tags)
    insert_words(connection, memory_id, analyze(memory.content, tags))
    _add_tags(connection, memory_id, memory.namespace, tags)
    return StoreOutcome(memory=replace(memory, tags=tags), created=True)


def _save_changes(connection: apsw.Connection, memory_id: int, old: Memory, new: Memory, analyze: TextAnalyzer) -> None:
    if new is old:  # merging returns the old one itself when nothing changes
        return
    connection.execute(
        """
        UPDATE memories SET updated_at = ?, memory_type = ?, source = ?, session = ?, sequence = ?, metadata = ?
        WHERE id = ?
        """,
        (
            new.updated_at,
            new.memory_type,
            new.source,
            new.session,
            new.sequence,
            metadata_to_json(new.metadata),
            memory_id,
        ),
    )
    if new.tags != old.tags:
        connection.execute("DELETE FROM memory_tags WHERE memory_id = ?", (memory_id,))
        _add_tags(connection, memory_id, new.namespace, new.tags)
        connection.execute("DELETE FROM memory_words WHERE memory_id = ?", (memory_id,))
        insert_words(connection, memory_id, analyze(new.content, new.tags))


def _add_tags(connection: apsw.Connection, memory_id: int, namespace: str, tags: Sequence[str]) -> None:
    for position, tag in enumerate(tags):
        add_tag(connection, memory_id, namespace, position, tag)


def add_tag(connection: apsw.Connection, memory_id: int, namespace: str, position: int, tag: str) -> None:
    folded = fold_tag(tag)
    connection.execute(
        "INSERT INTO tags (namespace, folded, display) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (namespace, folded, tag),
    )
    connection.execute(
        """
        INSERT INTO memory_tags (memory_id, tag_id, position, display)
        SELECT ?, id, ?, ? FROM tags WHERE namespace = ? AND folded = ? ON CONFLICT DO NOTHING
        """,
        (memory_id, position, tag, namespace, folded),
    )
