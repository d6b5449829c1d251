"""Names and edges; each takes a connection and runs inside one transaction or one snapshot."""

import json
from collections.abc import Sequence
from typing import cast

import apsw

from ....models import Edge, EdgeKind
from ...merging import edges_by_origin


def add_edges(connection: apsw.Connection, namespace: str, edges: Sequence[Edge]) -> list[str]:
    by_origin = edges_by_origin(edges)
    rows = connection.execute(
        """
        SELECT m.content_hash, m.id FROM json_each(?) asked
        CROSS JOIN memories m ON m.namespace = ? AND m.content_hash = asked.value
        """,
        (json.dumps(list(by_origin)), namespace),
    )
    ids = dict(cast("list[tuple[str, int]]", rows.fetchall()))
    connection.executemany(
        """
        INSERT INTO edges (memory_id, kind, by_name, target, weight) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET weight = excluded.weight
        """,
        [
            (ids[edge.from_id], edge.kind, int(edge.by_name), edge.to, edge.weight)
            for origin in by_origin.keys() & ids.keys()
            for edge in by_origin[origin]
        ],
    )
    return sorted(by_origin.keys() - ids.keys())


def edges_from(
    connection: apsw.Connection, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind]
) -> dict[str, list[Edge]]:
    rows = connection.execute(
        f"""
        SELECT m.content_hash, {_EDGE} FROM json_each(?) asked
        CROSS JOIN memories m ON m.namespace = ? AND m.content_hash = asked.value
        CROSS JOIN edges e ON e.memory_id = m.id WHERE {_OF_KIND} ORDER BY m.content_hash, {_ORDER}
        """,  # noqa: S608
        (_each_once(ids), namespace, *_kind_values(kinds)),
    )
    return _grouped(rows)


def edges_to(
    connection: apsw.Connection, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind]
) -> dict[str, list[Edge]]:
    rows = connection.execute(
        f"""
        WITH asked AS (SELECT value AS id FROM json_each(?)),
        address AS (
            SELECT id, id AS target, 0 AS by_name FROM asked
            UNION
            SELECT asked.id, n.name, 1 FROM asked
            CROSS JOIN memories called ON called.namespace = ? AND called.content_hash = asked.id
            CROSS JOIN memory_names n ON n.memory_id = called.id
        )
        SELECT address.id, {_EDGE} FROM address
        CROSS JOIN edges e ON e.target = address.target AND e.by_name = address.by_name
        CROSS JOIN memories m ON m.id = e.memory_id AND m.namespace = ?
        WHERE {_OF_KIND} ORDER BY address.id, m.content_hash, {_ORDER}
        """,  # noqa: S608
        (_each_once(ids), namespace, namespace, *_kind_values(kinds)),
    )
    return _grouped(rows)


def resolve(connection: apsw.Connection, namespace: str, names: Sequence[str]) -> dict[str, list[str]]:
    rows = connection.execute(
        """
        SELECT asked.value, m.content_hash FROM json_each(?) asked
        CROSS JOIN memory_names n ON n.name = asked.value
        CROSS JOIN memories m ON m.id = n.memory_id AND m.namespace = ? ORDER BY asked.value, m.content_hash
        """,
        (_each_once(names), namespace),
    )
    found: dict[str, list[str]] = {}
    for name, content_hash in cast("list[tuple[str, str]]", rows.fetchall()):
        found.setdefault(name, []).append(content_hash)
    return found


_EDGE = "m.content_hash, e.target, e.kind, e.weight, e.by_name"
_ORDER = "e.kind, e.by_name, e.target"
_OF_KIND = "(? OR e.kind IN (SELECT value FROM json_each(?)))"


def _kind_values(kinds: Sequence[EdgeKind]) -> tuple[int, str]:
    return int(not kinds), json.dumps(list(kinds))


def _each_once(texts: Sequence[str]) -> str:
    return json.dumps(list(dict.fromkeys(texts)))


def _grouped(rows: apsw.Cursor) -> dict[str, list[Edge]]:
    """By the first column."""
    found: dict[str, list[Edge]] = {}
    for asked, from_id, to, kind, weight, by_name in rows:
        edge = Edge(from_id, to, kind, weight, by_name=bool(by_name))
        found.setdefault(cast("str", asked), []).append(edge)
    return found
