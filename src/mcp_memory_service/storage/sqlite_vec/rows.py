"""Between rows and values: the columns of a memory, and filters as SQL conditions."""

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import apsw

from ...models import Memory, MemoryFilter, scope_root

SqlValue: TypeAlias = "str | int | float | bytes | None"

MEMORY_COLUMNS = """
    m.namespace, m.content_hash, m.created_at, m.updated_at, m.memory_type, m.source, m.session, m.sequence,
    m.metadata, m.content, coalesce(m.kind, 'memory'), m.anchor,
    (SELECT json_group_array(mt.display ORDER BY mt.position) FROM memory_tags mt WHERE mt.memory_id = m.id),
    (SELECT json_group_array(mn.name ORDER BY mn.position) FROM memory_names mn WHERE mn.memory_id = m.id)
"""


def memory_from_row(row: tuple[Any, ...]) -> Memory:
    (
        namespace, content_hash, created_at, updated_at, memory_type, source, session, sequence,
        metadata, content, kind, anchor, tags, names,
    ) = row  # fmt: skip
    # Most have no names, and many no metadata: the parser takes longer than a comparison.
    return Memory(
        content=content,
        content_hash=content_hash,
        created_at=created_at,
        updated_at=updated_at,
        tags=tuple(json.loads(tags)) if tags != "[]" else (),
        memory_type=memory_type,
        metadata=json.loads(metadata) if metadata != "{}" else {},
        namespace=namespace,
        source=source,
        session=session,
        sequence=sequence,
        kind=kind,
        anchor=anchor,
        names=tuple(json.loads(names)) if names != "[]" else (),
    )


def condition(where: MemoryFilter) -> tuple[str, list[SqlValue]]:
    """The filter as a condition on `memories m`, with its values."""
    # With tags, the plus keeps SQLite from walking the whole namespace by its index instead of the tagged rows.
    parts = ["+m.namespace = ?" if where.tags else "m.namespace = ?"]
    values: list[SqlValue] = [where.namespace]
    if where.types:
        parts.append(f"m.memory_type IN ({_places(where.types)})")
        values += where.types
    if where.kinds:
        parts.append(f"coalesce(m.kind, 'memory') IN ({_places(where.kinds)})")
        values += where.kinds
    if where.after is not None:
        parts.append("m.created_at >= ?")
        values.append(where.after)
    if where.before is not None:
        parts.append("m.created_at < ?")
        values.append(where.before)
    if where.scope is not None:
        root = scope_root(where.scope)
        # All texts that begin with the root and a slash lie between the two: "0" is the character after "/".
        parts.append("(m.source = ? OR (m.source >= ? AND m.source < ?))")
        values += [root, f"{root}/", f"{root}0"]
    if where.tags:
        parts.append(_TAGGED)
        values += [where.namespace, json.dumps(where.tags), len(where.tags) if where.tag_match == "all" else 1]
    return " AND ".join(parts), values


def _places(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


_TAGGED = """m.id IN (
    SELECT mt.memory_id FROM tags t JOIN memory_tags mt ON mt.tag_id = t.id
    WHERE t.namespace = ? AND t.folded IN (SELECT value FROM json_each(?))
    GROUP BY mt.memory_id HAVING count(*) >= ?
)"""


def find_memory(connection: apsw.Connection, namespace: str, content_hash: str) -> tuple[int, Memory] | None:
    """The row id and the memory, or None."""
    row = connection.execute(
        f"SELECT m.id, {MEMORY_COLUMNS} FROM memories m WHERE m.namespace = ? AND m.content_hash = ?",  # noqa: S608
        (namespace, content_hash),
    ).fetchone()
    return (row[0], memory_from_row(row[1:])) if row else None


def memory_by_id(connection: apsw.Connection, memory_id: int) -> Memory | None:
    row = connection.execute(f"SELECT {MEMORY_COLUMNS} FROM memories m WHERE m.id = ?", (memory_id,)).fetchone()  # noqa: S608
    return memory_from_row(row) if row else None
