"""The changes; each takes a connection and runs inside one write transaction."""

import json
from collections.abc import Sequence
from dataclasses import replace

import apsw

from ....models import EmbeddedMemory, Memory, MemoryPatch, StoreOutcome, Vector, fold_tag, history_of, trash_of
from ...merging import apply_patch, edit_joining, first_form, unite
from ...ports import TextAnalyzer
from ...vectors import checked_items
from ..rows import SqlValue, find_memory
from ..schema import pinned_embedding
from ..tables import OWNED
from ..text_index import insert_words


def store_memory(
    connection: apsw.Connection, memory: Memory, vectors: Sequence[Vector], analyze: TextAnalyzer
) -> StoreOutcome:
    found = find_memory(connection, memory.namespace, memory.content_hash)
    if found is None:
        return StoreOutcome(insert_memory(connection, memory, vectors, analyze), created=True)
    memory_id, existing = found
    united = unite(existing, memory)
    save_changes(connection, memory_id, existing, united, analyze)
    give_vectors(connection, memory_id, vectors)
    return StoreOutcome(memory=united, created=False)


def add_vectors(connection: apsw.Connection, memory: Memory, vectors: Sequence[Vector]) -> bool:
    """False if it is gone, or has some by now."""
    memory_id = connection.execute(
        "SELECT id FROM memories WHERE namespace = ? AND content_hash = ?", (memory.namespace, memory.content_hash)
    ).get
    return memory_id is not None and give_vectors(connection, memory_id, vectors)


def give_vectors(connection: apsw.Connection, memory_id: int, vectors: Sequence[Vector]) -> bool:
    """To a memory that has none; False if it has some."""
    if not vectors or connection.execute("SELECT 1 FROM vectors WHERE memory_id = ? LIMIT 1", (memory_id,)).get:
        return False
    _insert_vectors(connection, memory_id, vectors)
    # The change of its row also tells the index to read it again.
    connection.execute("UPDATE memories SET awaits_vectors = NULL WHERE id = ?", (memory_id,))
    return True


def supersede(connection: apsw.Connection, new: Memory, old_id: str) -> None:
    """The old one goes to the history; nothing, if it is not there."""
    found = find_memory(connection, new.namespace, old_id)
    if found is None or old_id == new.content_hash:
        return
    move_memory(connection, *found, history_of(new.namespace), new.updated_at)
    connection.execute(
        """
        INSERT INTO edges (memory_id, kind, by_name, target, weight)
        SELECT id, 'supersedes', 0, ?, 1.0 FROM memories WHERE namespace = ? AND content_hash = ? ON CONFLICT DO NOTHING
        """,
        (old_id, new.namespace, new.content_hash),
    )


def move_memory(
    connection: apsw.Connection, memory_id: int, memory: Memory, namespace: str, ended_at: int | None
) -> Memory:
    """To another namespace, in the place of one with the same id, with all that belongs to it and the edges of that
    one: by them earlier versions are found."""
    before = find_memory(connection, namespace, memory.content_hash)
    if before is not None:
        connection.execute("UPDATE OR IGNORE edges SET memory_id = ? WHERE memory_id = ?", (memory_id, before[0]))
        delete_memory(connection, namespace, memory.content_hash)
    words = connection.execute(
        "DELETE FROM memory_words WHERE memory_id = ? RETURNING memory_id, labels, words, names, tokens", (memory_id,)
    ).fetchall()
    connection.execute("DELETE FROM memory_tags WHERE memory_id = ?", (memory_id,))
    connection.execute("UPDATE memories SET namespace = ?, ended_at = ? WHERE id = ?", (namespace, ended_at, memory_id))
    connection.executemany(
        "INSERT INTO memory_words (memory_id, labels, words, names, tokens) VALUES (?, ?, ?, ?, ?)", words
    )
    _add_tags(connection, memory_id, namespace, memory.tags)
    return replace(memory, namespace=namespace, ended_at=ended_at)


def restore_memory(
    connection: apsw.Connection, namespace: str, content_hash: str, now: int, analyze: TextAnalyzer
) -> Memory | None:
    found = find_memory(connection, trash_of(namespace), content_hash)
    if found is None:
        return None
    live = find_memory(connection, namespace, content_hash)
    if live is None:
        return move_memory(connection, *found, namespace, None)
    united = unite(live[1], replace(found[1], updated_at=now))
    save_changes(connection, *live, united, analyze)
    _hand_on(connection, found[0], live[0])
    delete_memory(connection, trash_of(namespace), content_hash)
    return united


def patch_memory(
    connection: apsw.Connection,
    namespace: str,
    content_hash: str,
    patch: MemoryPatch,
    now: int,
    analyze: TextAnalyzer,
    vectors: Sequence[Vector] = (),
) -> Memory | None:
    found = find_memory(connection, namespace, content_hash)
    if found is None:
        return None
    memory_id, existing = found
    patched = apply_patch(existing, patch, now)
    if patched.content_hash != content_hash:
        return _revise(connection, memory_id, existing, patched, vectors, analyze)
    save_changes(connection, memory_id, existing, patched, analyze)
    return patched


def _revise(
    connection: apsw.Connection,
    old_row: int,
    old: Memory,
    new: Memory,
    vectors: Sequence[Vector],
    analyze: TextAnalyzer,
) -> Memory:
    """The new version takes over what belongs to the old one; what the new one has already stays."""
    (item,) = checked_items([EmbeddedMemory(new, tuple(vectors))], pinned_embedding(connection)[1])
    there = find_memory(connection, new.namespace, new.content_hash)
    kept = store_memory(connection, edit_joining(there[1], new) if there else new, item.vectors, analyze).memory
    new_row = connection.execute(
        "SELECT id FROM memories WHERE namespace = ? AND content_hash = ?", (new.namespace, new.content_hash)
    ).get
    _hand_on(connection, old_row, new_row)
    supersede(connection, new, old.content_hash)
    return kept


def _hand_on(connection: apsw.Connection, old_row: int, new_row: int) -> None:
    """Edges and feedback; what the new one has of its own stays."""
    for table in ("edges", "feedback"):
        connection.execute(f"UPDATE OR IGNORE {table} SET memory_id = ? WHERE memory_id = ?", (new_row, old_row))  # noqa: S608
        connection.execute(f"DELETE FROM {table} WHERE memory_id = ?", (old_row,))  # noqa: S608


def trash_memory(connection: apsw.Connection, namespace: str, content_hash: str, trashed_at: int) -> bool:
    found = find_memory(connection, namespace, content_hash)
    if found is not None:
        move_memory(connection, *found, trash_of(namespace), trashed_at)
    return found is not None


def delete_memory(connection: apsw.Connection, namespace: str, content_hash: str) -> bool:
    """Reads nothing of it: what cannot be read can still be deleted."""
    row = connection.execute(
        "SELECT id FROM memories WHERE namespace = ? AND content_hash = ?", (namespace, content_hash)
    ).fetchone()
    if row is None:
        return False
    for table, owner in OWNED:
        connection.execute(f"DELETE FROM {table} WHERE {owner} = ?", row)  # noqa: S608
    connection.execute("DELETE FROM memories WHERE id = ?", row)
    return True


def purge_memory(connection: apsw.Connection, namespace: str, content_hash: str) -> bool:
    """With the edges that lead to it by its id, which is a digest of its text; in history and trash as well."""
    places = (namespace, history_of(namespace), trash_of(namespace))
    connection.execute(
        """
        DELETE FROM edges WHERE target = ? AND NOT by_name
            AND memory_id IN (SELECT id FROM memories WHERE namespace IN (?, ?, ?))
        """,
        (content_hash, *places),
    )
    return sum(delete_memory(connection, place, content_hash) for place in places) > 0


def touch(connection: apsw.Connection) -> None:
    """A write that changes nothing."""
    connection.execute("UPDATE store_info SET value = value WHERE key = 'tags_version'")


def insert_memory(
    connection: apsw.Connection, memory: Memory, vectors: Sequence[Vector], analyze: TextAnalyzer
) -> Memory:
    """Returns it as it is stored."""
    new = first_form(memory)
    memory_id = connection.execute(
        """
        INSERT INTO memories (namespace, content_hash, content, kind, edited_at, ended_at, awaits_vectors,
            created_at, updated_at, memory_type, source, session, sequence, metadata, anchor, pinned, expires_at)
        VALUES (?, ?, ?, nullif(?, 'memory'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (
            *(new.namespace, new.content_hash, new.content, new.kind, new.edited_at, new.ended_at),
            *(None if vectors else 1, *_changeable(new)),
        ),
    ).get
    _insert_vectors(connection, memory_id, vectors)
    insert_words(connection, memory_id, analyze(new.content, new.labels))
    _add_tags(connection, memory_id, new.namespace, new.tags)
    _add_names(connection, memory_id, new.names)
    return new


def save_changes(connection: apsw.Connection, memory_id: int, old: Memory, new: Memory, analyze: TextAnalyzer) -> None:
    if new is old:  # merging returns the old one itself when nothing changes
        return
    connection.execute(
        """
        UPDATE memories SET created_at = ?, updated_at = ?, memory_type = ?, source = ?, session = ?, sequence = ?,
            metadata = ?, anchor = ?, pinned = ?, expires_at = ? WHERE id = ?
        """,
        (*_changeable(new), memory_id),
    )
    if new.tags != old.tags:
        connection.execute("DELETE FROM memory_tags WHERE memory_id = ?", (memory_id,))
        _add_tags(connection, memory_id, new.namespace, new.tags)
    if new.labels != old.labels:
        connection.execute("DELETE FROM memory_words WHERE memory_id = ?", (memory_id,))
        insert_words(connection, memory_id, analyze(new.content, new.labels))
    if new.names != old.names:
        connection.execute("DELETE FROM memory_names WHERE memory_id = ?", (memory_id,))
        _add_names(connection, memory_id, new.names)


def _changeable(new: Memory) -> tuple[SqlValue, ...]:
    """The columns of a row that may change, in the order of both statements above."""
    metadata = json.dumps(new.metadata, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    pinned = 1 if new.pinned else None
    return (
        *(new.created_at, new.updated_at, new.memory_type, new.source, new.session, new.sequence, metadata),
        *(new.anchor, pinned, new.expires_at),
    )


def _insert_vectors(connection: apsw.Connection, memory_id: int, vectors: Sequence[Vector]) -> None:
    connection.executemany(
        "INSERT INTO vectors (memory_id, embedding) VALUES (?, ?)",
        [(memory_id, vector.tobytes()) for vector in vectors],
    )


def _add_names(connection: apsw.Connection, memory_id: int, names: Sequence[str]) -> None:
    connection.executemany(
        "INSERT INTO memory_names (memory_id, position, name) VALUES (?, ?, ?)",
        [(memory_id, position, name) for position, name in enumerate(names)],
    )


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
