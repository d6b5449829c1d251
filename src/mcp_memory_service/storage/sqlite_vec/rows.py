"""Between rows and values: the columns of a memory, and filters as SQL conditions."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import apsw

from ...models import Memory, MemoryFilter, MetadataIs, scope_root

SqlValue: TypeAlias = "str | int | float | bytes | None"

MEMORY_COLUMNS = """
    m.namespace, m.content_hash, m.created_at, m.updated_at, m.memory_type, m.source, m.session, m.sequence,
    m.metadata, m.content, coalesce(m.kind, 'memory'), m.anchor, m.pinned, m.expires_at, m.edited_at, m.ended_at,
    (SELECT json_group_array(mt.display ORDER BY mt.position) FROM memory_tags mt WHERE mt.memory_id = m.id),
    (SELECT json_group_array(mn.name ORDER BY mn.position) FROM memory_names mn WHERE mn.memory_id = m.id)
"""


def memory_from_row(row: tuple[Any, ...]) -> Memory:
    (
        namespace, content_hash, created_at, updated_at, memory_type, source, session, sequence,
        metadata, content, kind, anchor, pinned, expires_at, edited_at, ended_at, tags, names,
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
        pinned=pinned is not None,
        expires_at=expires_at,
        edited_at=edited_at,
        ended_at=ended_at,
    )


class _Clause(NamedTuple):
    sql: str
    values: Sequence[SqlValue]


def condition(where: MemoryFilter) -> tuple[str, list[SqlValue]]:
    """The filter as a condition on `memories m`, with its values."""
    # With tags, the plus keeps SQLite from walking the whole namespace by its index instead of the tagged rows.
    namespace = _Clause("+m.namespace = ?" if where.tags else "m.namespace = ?", (where.namespace,))
    clauses = [namespace, *_by_content(where), *map(_by_metadata, where.metadata), *_by_life(where)]
    return " AND ".join([each.sql for each in clauses]), [value for each in clauses for value in each.values]


def _by_content(where: MemoryFilter) -> Iterator[_Clause]:
    if where.types:
        yield _Clause(f"m.memory_type IN ({_places(where.types)})", where.types)
    if where.kinds:
        yield _Clause(f"coalesce(m.kind, 'memory') IN ({_places(where.kinds)})", where.kinds)
    if where.session is not None:
        yield _Clause("m.session = ?", (where.session,))
    if where.source is not None:
        yield _Clause("m.source = ?", (where.source,))
    if where.scope is not None:
        yield _Clause(*in_scope("m.source", where.scope))
    if where.tags:
        needed = len(where.tags) if where.tag_match == "all" else 1
        yield _Clause(_TAGGED, (where.namespace, json.dumps(where.tags), needed))


def in_scope(column: str, scope: str) -> tuple[str, tuple[str, str, str]]:
    """`in_scope` of the models as a condition, with its values."""
    root = scope_root(scope)
    # All texts that begin with the root and a slash lie between the two: "0" is the character after "/".
    return f"({column} = ? OR ({column} >= ? AND {column} < ?))", (root, f"{root}/", f"{root}0")


def _by_metadata(asked: MetadataIs) -> _Clause:
    """`metadata_is` of the models: to SQLite, 1 would be true."""
    if asked.value is None:
        return _Clause(_HAS_KEY, (asked.key,))
    if isinstance(asked.value, bool):
        types = ["true", "false"]
    else:
        types = ["text"] if isinstance(asked.value, str) else ["integer", "real"]
    return _Clause(_HAS_VALUE, (asked.key, json.dumps(types), asked.value))


def _by_life(where: MemoryFilter) -> Iterator[_Clause]:
    """`is_alive` of the models, and when a memory began."""
    if where.after is not None:
        yield _Clause("m.created_at >= ?", (where.after,))
    if where.before is not None:
        yield _Clause("m.created_at < ?", (where.before,))
    if where.pinned is not None:
        yield _Clause(f"m.pinned IS {'NOT ' if where.pinned else ''}NULL", ())
    if where.alive_at is not None:
        yield _Clause("(m.expires_at IS NULL OR m.expires_at > ?)", (where.alive_at,))
    if where.expired_by is not None:
        yield _Clause("m.expires_at <= ?", (where.expired_by,))
    if where.ended_before is not None:
        yield _Clause("m.ended_at < ?", (where.ended_before,))
    if where.as_of is not None:
        yield _Clause(_THERE_AT, (where.as_of,) * 4)


def _places(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


_THERE_AT = """m.created_at <= ? AND coalesce(m.edited_at <= ?, 1)
    AND coalesce(m.ended_at > ?, 1) AND coalesce(m.expires_at > ?, 1)"""

_HAS_KEY = "EXISTS (SELECT 1 FROM json_each(m.metadata) WHERE key = ?)"
_HAS_VALUE = """EXISTS (
    SELECT 1 FROM json_each(m.metadata) j
    WHERE j.key = ? AND j.type IN (SELECT value FROM json_each(?)) AND j.value = ?
)"""

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
