"""What memories are linked with, in a few statements however many there are; run inside one snapshot."""

import json
from collections.abc import Sequence
from typing import Any, cast

import apsw

from ....models import LINK_KINDS, Candidate, Edge, Linked, MemoryFilter
from ...links import MAX_LINKS, MAX_NAMED, EdgeOf, ends_of, linked_by
from ..rows import condition


def linked(connection: apsw.Connection, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> list[Linked]:
    asked = {"asked": json.dumps(list(dict.fromkeys(content_hashes))), "namespace": where.namespace}
    if not connection.execute(_HAS_LINKS, asked).get:  # as most have none, this is all that they cost
        return []
    edges = [_edge_of(row) for row in connection.execute(_LINKS, asked)]
    ids, names = ends_of(edges)
    return linked_by(edges, _with_ids(connection, ids, where), _with_names(connection, names, where), limit)


def _edge_of(row: tuple[Any, ...]) -> EdgeOf:
    asked, from_id, to, kind, weight, by_name, degree, far_degree = row
    return EdgeOf(asked, Edge(from_id, to, kind, weight, by_name=bool(by_name)), degree, far_degree)


def _with_ids(connection: apsw.Connection, ids: Sequence[str], where: MemoryFilter) -> dict[str, Candidate]:
    matches, values = condition(where)
    rows = connection.execute(
        f"""
        SELECT {_CANDIDATE} FROM json_each(?) asked
        CROSS JOIN memories m ON m.namespace = ? AND m.content_hash = asked.value WHERE {matches}
        """,  # noqa: S608
        (json.dumps(ids), where.namespace, *values),
    )
    return {found.content_hash: found for found in map(Candidate._make, rows)}


def _with_names(connection: apsw.Connection, names: Sequence[str], where: MemoryFilter) -> dict[str, list[Candidate]]:
    matches, values = condition(where)
    rows = connection.execute(
        f"""
        SELECT * FROM (
            SELECT asked.value, row_number() OVER (
                PARTITION BY asked.key ORDER BY m.sequence IS NULL, m.sequence, m.content_hash
            ) AS place, {_CANDIDATE}
            FROM json_each(?) asked
            CROSS JOIN memory_names n ON n.name = asked.value
            CROSS JOIN memories m ON m.id = n.memory_id WHERE {matches}
        ) WHERE place <= {MAX_NAMED} ORDER BY place
        """,  # noqa: S608
        (json.dumps(names), *values),
    )
    found: dict[str, list[Candidate]] = {}
    for name, _, *candidate in rows:
        found.setdefault(cast("str", name), []).append(Candidate._make(candidate))
    return found


def _counted(rows: str, at_most: int, what: str = "1") -> str:
    """How many rows there are, without touching more than so many: a hub has thousands of links."""
    return f"(SELECT count(*) FROM (SELECT {what} FROM {rows} LIMIT {at_most}))"  # noqa: S608


_CANDIDATE = "m.content_hash, m.created_at, 0.0, m.session, m.sequence"
_KINDS = json.dumps(LINK_KINDS).replace('"', "'").strip("[]")
_IS_LINK = f"e.kind IN ({_KINDS})"

# The memories asked about, and all that an edge may lead to them by. CROSS JOIN fixes the order of the loops: from
# these few to their edges, never from all edges.
_ASKED = """
    asked AS MATERIALIZED (
        SELECT a.key AS place, m.id, m.content_hash FROM json_each(:asked) a
        CROSS JOIN memories m ON m.namespace = :namespace AND m.content_hash = a.value
    ),
    address AS MATERIALIZED (
        SELECT place, id, content_hash, content_hash AS target, 0 AS by_name FROM asked
        UNION SELECT place, id, content_hash, n.name, 1 FROM asked CROSS JOIN memory_names n ON n.memory_id = asked.id
    )
"""
_OUT = f"edges e WHERE e.memory_id = asked.id AND {_IS_LINK}"
_BACK = f"""
    edges e CROSS JOIN memories o ON o.id = e.memory_id AND o.namespace = :namespace
    WHERE e.target = address.target AND e.by_name = address.by_name AND e.memory_id <> address.id AND {_IS_LINK}
"""
_SAME_END = f"""
    edges f CROSS JOIN memories g ON g.id = f.memory_id AND g.namespace = :namespace
    WHERE f.target = e.target AND f.by_name = e.by_name AND f.kind IN ({_KINDS})
"""
_SAME_START = f"edges f WHERE f.memory_id = e.memory_id AND f.kind IN ({_KINDS})"

_HAS_LINKS = f"""
    WITH {_ASKED}
    SELECT EXISTS (SELECT 1 FROM asked WHERE EXISTS (SELECT 1 FROM {_OUT}))
        OR EXISTS (SELECT 1 FROM address WHERE EXISTS (SELECT 1 FROM {_BACK}))
"""  # noqa: S608

_LINKS = f"""
    WITH {_ASKED},
    out AS MATERIALIZED (SELECT place, {_counted(_OUT, MAX_LINKS + 1)} AS degree FROM asked),
    back AS MATERIALIZED (SELECT place, sum({_counted(_BACK, MAX_LINKS + 1)}) AS degree FROM address GROUP BY place)
    SELECT asked, from_id, target, kind, weight, by_name, degree, far_degree FROM (
        SELECT 0 AS is_back, place, content_hash AS asked, content_hash AS from_id, e.target, e.kind, e.weight,
            e.by_name, degree, {_counted(_SAME_END, MAX_LINKS, "DISTINCT f.memory_id")} AS far_degree
        FROM out CROSS JOIN asked USING (place) CROSS JOIN {_OUT} AND degree <= {MAX_LINKS}
        UNION ALL
        SELECT 1, place, address.content_hash, o.content_hash, e.target, e.kind, e.weight,
            e.by_name, degree, {_counted(_SAME_START, MAX_LINKS)}
        FROM back CROSS JOIN address USING (place) CROSS JOIN {_BACK} AND degree <= {MAX_LINKS}
    )
    ORDER BY place, is_back, from_id, kind, by_name, target
"""  # noqa: S608
