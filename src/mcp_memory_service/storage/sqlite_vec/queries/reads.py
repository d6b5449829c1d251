"""The queries; each takes a connection and runs inside one snapshot."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

import apsw
import numpy as np

from ....models import (
    Candidate,
    EmbeddedMemory,
    Memory,
    MemoryFilter,
    MemoryPage,
    MemoryScan,
    StoreStats,
    TagCount,
    Vector,
    VectorSample,
)
from ..rows import MEMORY_COLUMNS, condition, find_memory, memory_from_row
from ..schema import pinned_embedding, schema_version

ALL_ROWS = -1  # as a LIMIT


def retrieve(connection: apsw.Connection, query_vector: Vector, limit: int, where: MemoryFilter) -> list[Candidate]:
    """Exact search over all vectors that pass the filter, keeping the nearest chunk of each memory.

    Chunks of one memory take several of the fetched rows: if they leave too few memories, all rows are read. Grouping
    in SQL instead costs three times as much, for stores that mostly hold short texts.
    """
    matches, values = condition(where)
    # CROSS JOIN fixes the order of the loops: a filter that has an index starts from the few memories it leaves, all
    # else from a sequential scan of the vectors.
    tables = (
        "memories m CROSS JOIN vectors v ON v.memory_id = m.id"
        if where.tags or where.session is not None or where.pinned
        else "vectors v CROSS JOIN memories m ON m.id = v.memory_id"
    )
    sql = f"""
        SELECT m.content_hash, m.created_at, 1.0 - vec_distance_cosine(v.embedding, ?) AS similarity,
            m.session, m.sequence
        FROM {tables} WHERE {matches} ORDER BY similarity DESC, m.content_hash LIMIT ?
    """  # noqa: S608
    found: dict[str, Candidate] = {}
    for fetch in (limit, ALL_ROWS):
        rows = list(map(Candidate._make, connection.execute(sql, (query_vector.tobytes(), *values, fetch))))
        for candidate in rows:
            found.setdefault(candidate.content_hash, candidate)
        if len(found) >= limit or len(rows) < limit:
            break
    return list(found.values())[:limit]


def search_by_tag(
    connection: apsw.Connection, weights: Mapping[str, float], limit: int, where: MemoryFilter
) -> list[Candidate]:
    matches, values = condition(where)
    # Rounded, so that equal sets of tags stay equal in whatever order they are summed.
    sql = f"""
        SELECT m.content_hash, m.created_at, s.score, m.session, m.sequence
        FROM (
            SELECT mt.memory_id, round(sum(w.value), 9) AS score
            FROM json_each(?) w
            JOIN tags t ON t.namespace = ? AND t.folded = w.key
            JOIN memory_tags mt ON mt.tag_id = t.id
            GROUP BY mt.memory_id
        ) s CROSS JOIN memories m ON m.id = s.memory_id
        WHERE {matches} ORDER BY s.score DESC, m.created_at DESC, m.content_hash LIMIT ?
    """  # noqa: S608
    rows = connection.execute(sql, (json.dumps(weights), where.namespace, *values, limit))
    return list(map(Candidate._make, rows))


def similarities(connection: apsw.Connection, query_vector: Vector, memory_ids: Sequence[int]) -> dict[int, float]:
    """Of the memories that are there, each by its nearest chunk."""
    rows = connection.execute(
        """
        SELECT v.memory_id, max(1.0 - vec_distance_cosine(v.embedding, ?))
        FROM json_each(?) asked CROSS JOIN vectors v ON v.memory_id = asked.value GROUP BY v.memory_id
        """,
        (query_vector.tobytes(), json.dumps(list(memory_ids))),
    )
    return dict(cast("list[tuple[int, float]]", rows.fetchall()))


def chunk_similarities(
    connection: apsw.Connection, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
) -> dict[str, list[float]]:
    rows = connection.execute(
        """
        SELECT m.content_hash, 1.0 - vec_distance_cosine(v.embedding, ?) FROM json_each(?) asked
        CROSS JOIN memories m ON m.namespace = ? AND m.content_hash = asked.value
        CROSS JOIN vectors v ON v.memory_id = m.id ORDER BY asked.key, v.id
        """,
        (query_vector.tobytes(), json.dumps(list(dict.fromkeys(content_hashes))), namespace),
    )
    found: dict[str, list[float]] = {}
    for content_hash, similarity in cast("list[tuple[str, float]]", rows.fetchall()):
        found.setdefault(content_hash, []).append(similarity)
    return found


def adjacent(
    connection: apsw.Connection, content_hashes: Sequence[str], limit: int, where: MemoryFilter
) -> list[Candidate]:
    # By name: with a time filter the planner would walk the whole namespace for each of the memories asked for.
    matches, values = condition(where)
    sql = f"""
        SELECT DISTINCT m.content_hash, m.created_at, 0.0, m.session, m.sequence
        FROM json_each(?) asked
        CROSS JOIN memories origin ON origin.namespace = ? AND origin.content_hash = asked.value
        CROSS JOIN memories m INDEXED BY memories_by_session
            ON m.namespace = origin.namespace AND m.session = origin.session
            AND m.sequence IN (origin.sequence - 1, origin.sequence + 1)
        WHERE {matches} ORDER BY m.session, m.sequence, m.content_hash LIMIT ?
    """  # noqa: S608
    rows = connection.execute(sql, (json.dumps(list(content_hashes)), where.namespace, *values, limit))
    return list(map(Candidate._make, rows))


def sample_vectors(connection: apsw.Connection, where: MemoryFilter, limit: int) -> VectorSample:
    """The first ones by content_hash: it is a digest, so its order has nothing to do with what a memory says."""
    matches, values = condition(where.corpus)
    # A few memories are found by the filter and then put in order, not looked for in the order of all.
    order = "m.content_hash" if where.has_whole_namespace else "+m.content_hash"
    waiting = int(connection.execute(f"SELECT count(*) FROM {_WAITING} AND {matches}", values).get)  # noqa: S608
    # Which is read from the row of each memory, not from an index.
    having_vectors = "m.awaits_vectors IS NULL" if waiting else "1"
    rows = connection.execute(
        f"SELECT m.id FROM memories m WHERE {matches} AND {having_vectors} ORDER BY {order} LIMIT ?",  # noqa: S608
        (*values, limit),
    ).fetchall()
    drawn_from = len(rows) + waiting
    if len(rows) == limit:
        drawn_from = int(connection.execute(f"SELECT count(*) FROM memories m WHERE {matches}", values).get)  # noqa: S608
    return sample_of(connection, [cast("int", memory_id) for (memory_id,) in rows], limit, drawn_from, waiting)


_WAITING = "memories m INDEXED BY memories_awaiting_vectors WHERE m.awaits_vectors IS NOT NULL"
"""By name: few memories wait, and all else is walked through by time."""


def awaiting_vectors(connection: apsw.Connection, limit: int, namespace: str | None) -> list[Memory]:
    """By namespace, then in the order in which they were stored: as the index has them."""
    within = "1" if namespace is None else "m.namespace = ?"
    rows = connection.execute(
        f"SELECT {MEMORY_COLUMNS} FROM {_WAITING} AND {within} ORDER BY m.namespace, m.id LIMIT ?",  # noqa: S608
        (limit,) if namespace is None else (namespace, limit),
    )
    return [memory_from_row(row) for row in rows]


def sample_of(
    connection: apsw.Connection, memory_ids: Sequence[int], limit: int, drawn_from: int, waiting: int
) -> VectorSample:
    """The vectors of these memories, in this order."""
    rows = connection.execute(
        """
        SELECT v.memory_id, v.embedding FROM json_each(?) drawn CROSS JOIN vectors v ON v.memory_id = drawn.value
        ORDER BY drawn.key, v.id LIMIT ?
        """,
        (json.dumps(list(memory_ids)), limit),
    ).fetchall()
    vectors = np.frombuffer(b"".join(cast("bytes", embedding) for _, embedding in rows), dtype=np.float32)
    return VectorSample(
        memories=len({memory_id for memory_id, _ in rows}),
        vectors=vectors.reshape(len(rows), -1 if rows else 0),
        drawn_from=drawn_from,
        awaiting_vectors=waiting,
    )


def find_ids(connection: apsw.Connection, namespace: str, prefix: str, limit: int) -> list[str]:
    rows = connection.execute(
        # "g" comes after all hex digits.
        "SELECT content_hash FROM memories WHERE namespace = ? AND content_hash >= ? AND content_hash < ?"
        " ORDER BY content_hash LIMIT ?",
        (namespace, prefix, f"{prefix}g", limit),
    )
    return [content_hash for (content_hash,) in rows]


def all_tags(connection: apsw.Connection, namespace: str) -> list[TagCount]:
    rows = connection.execute(
        "SELECT display, memories FROM tags WHERE namespace = ? ORDER BY memories DESC, folded", (namespace,)
    )
    return [TagCount(tag=display, memories=memories) for display, memories in rows]


def tags_version(connection: apsw.Connection, namespace: str) -> int:
    """That of the store for a namespace without memories, so that no number comes back with other tags."""
    found = connection.execute("SELECT tags_version FROM namespaces WHERE namespace = ?", (namespace,)).get
    if found is None:
        found = connection.execute("SELECT value FROM store_info WHERE key = 'tags_version'").get
    return int(found or 0)


def count_all_memories(connection: apsw.Connection, namespace: str) -> int:
    return int(connection.execute("SELECT count(*) FROM memories WHERE namespace = ?", (namespace,)).get)


def get_many(connection: apsw.Connection, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
    rows = connection.execute(
        f"""
        SELECT {MEMORY_COLUMNS} FROM json_each(?) asked
        CROSS JOIN memories m ON m.namespace = ? AND m.content_hash = asked.value ORDER BY asked.key
        """,  # noqa: S608
        (json.dumps(list(content_hashes)), namespace),
    )
    return [memory_from_row(row) for row in rows]


def page_of_memories(connection: apsw.Connection, where: MemoryFilter, offset: int, limit: int) -> MemoryPage:
    matches, values = condition(where)
    total = int(connection.execute(f"SELECT count(*) FROM memories m WHERE {matches}", values).get)  # noqa: S608
    rows = connection.execute(
        f"""
        SELECT {MEMORY_COLUMNS} FROM memories m WHERE {matches}
        ORDER BY m.created_at DESC, m.content_hash LIMIT ? OFFSET ?
        """,  # noqa: S608
        (*values, limit, offset),
    )
    return MemoryPage(memories=tuple(memory_from_row(row) for row in rows), total=total)


def touch_everything(connection: apsw.Connection) -> None:
    """Read a little of each part that a search reads."""
    pinned_embedding(connection)
    connection.execute("SELECT vec_length(embedding) FROM vectors LIMIT 1").fetchall()
    connection.execute("SELECT 1 FROM memory_text WHERE memory_text MATCH 'a' LIMIT 1").fetchall()
    connection.execute("SELECT 1 FROM tags LIMIT 1").fetchall()
    connection.execute("SELECT content FROM memories LIMIT 1").fetchall()


def namespaces(connection: apsw.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT namespace FROM namespaces ORDER BY namespace")]


def scan(connection: apsw.Connection, cursor: str | None, limit: int) -> MemoryScan:
    """In the order in which they were stored."""
    rows = connection.execute(
        f"SELECT m.id, {MEMORY_COLUMNS} FROM memories m WHERE m.id > ? ORDER BY m.id LIMIT ?",  # noqa: S608
        (int(cursor or 0), limit),
    ).fetchall()
    items = tuple(EmbeddedMemory(memory_from_row(row[1:]), _vectors(connection, cast("int", row[0]))) for row in rows)
    return MemoryScan(items, cursor=str(rows[-1][0]) if len(rows) == limit else None)


def get_embedded(connection: apsw.Connection, namespace: str, content_hashes: Sequence[str]) -> list[EmbeddedMemory]:
    found = (find_memory(connection, namespace, content_hash) for content_hash in content_hashes)
    return [EmbeddedMemory(row[1], _vectors(connection, row[0])) for row in found if row]


def _vectors(connection: apsw.Connection, memory_id: int) -> tuple[Vector, ...]:
    rows = connection.execute("SELECT embedding FROM vectors WHERE memory_id = ? ORDER BY id", (memory_id,))
    return tuple(np.frombuffer(cast("bytes", embedding), dtype=np.float32) for (embedding,) in rows)


def store_stats(connection: apsw.Connection, namespace: str) -> StoreStats:
    model, dimension = pinned_embedding(connection)
    memories, oldest, newest, text_bytes = connection.execute(
        """
        SELECT count(*), min(created_at), max(created_at),
            coalesce(sum(octet_length(content) + octet_length(metadata)), 0)
        FROM memories WHERE namespace = ?
        """,
        (namespace,),
    ).get
    vectors, vector_bytes = connection.execute(
        """
        SELECT count(*), coalesce(sum(octet_length(v.embedding)), 0)
        FROM vectors v JOIN memories m ON m.id = v.memory_id WHERE m.namespace = ?
        """,
        (namespace,),
    ).get
    by_type = connection.execute(
        """
        SELECT coalesce(memory_type, ''), count(*) FROM memories WHERE namespace = ?
        GROUP BY memory_type ORDER BY count(*) DESC, memory_type
        """,
        (namespace,),
    )
    return StoreStats(
        backend="sqlite_vec",
        memories=memories,
        tags=connection.execute("SELECT count(*) FROM tags WHERE namespace = ?", (namespace,)).get,
        vectors=vectors,
        size_bytes=text_bytes + vector_bytes,
        schema_version=schema_version(connection),
        embedding_model=model or "",
        embedding_dimension=dimension,
        memories_by_type=dict(by_type),
        oldest=oldest,
        newest=newest,
        awaiting_vectors=connection.execute(f"SELECT count(*) FROM {_WAITING} AND m.namespace = ?", (namespace,)).get,  # noqa: S608
    )
