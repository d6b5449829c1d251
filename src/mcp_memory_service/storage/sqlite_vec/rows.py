"""Between rows and values: the columns of a memory, and filters as SQL conditions."""

import json
from typing import Any, TypeAlias

import apsw

from ...models import Memory, MemoryFilter, Metadata

SqlValue: TypeAlias = "str | int | float | bytes | None"

MEMORY_COLUMNS = """
    m.namespace, m.content_hash, m.created_at, m.updated_at, m.memory_type, m.source, m.session, m.sequence,
    m.metadata, m.content,
    (SELECT json_group_array(mt.display ORDER BY mt.position) FROM memory_tags mt WHERE mt.memory_id = m.id)
"""


def memory_from_row(row: tuple[Any, ...]) -> Memory:
    namespace, content_hash, created_at, updated_at, memory_type, source, session, sequence, metadata, content, tags = (
        row
    )
    return Memory(
        content=content,
        content_hash=content_hash,
        created_at=created_at,
        updated_at=updated_at,
        tags=tuple(json.loads(tags)),
        memory_type=memory_type,
        metadata=json.loads(metadata),
        namespace=namespace,
        source=source,
        session=session,
        sequence=sequence,
    )


def metadata_to_json(metadata: Metadata) -> str:
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def condition(where: MemoryFilter) -> tuple[str, list[SqlValue]]:
    """The filter as a condition on `memories m`, with its values."""
    # With tags, the plus keeps SQLite from walking the whole namespace by its index instead of the tagged rows.
    parts = ["+m.namespace = ?" if where.tags else "m.namespace = ?"]
    values: list[SqlValue] = [where.namespace]
    if where.memory_type is not None:
        parts.append("m.memory_type = ?")
        values.append(where.memory_type)
    if where.after is not None:
        parts.append("m.created_at >= ?")
        values.append(where.after)
    if where.before is not None:
        parts.append("m.created_at < ?")
        values.append(where.before)
    if where.tags:
        parts.append(_TAGGED)
        values += [where.namespace, json.dumps(where.tags), len(where.tags) if where.tag_match == "all" else 1]
    return " AND ".join(parts), values


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
