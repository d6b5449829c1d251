"""Makes right what can be rebuilt from the rows; each step runs inside the one write transaction of a repair."""

import json
from collections.abc import Sequence
from typing import cast

import apsw

from ...models import Memory, Vector
from ..base import TextAnalyzer
from .inspection import unfit_vectors
from .rows import MEMORY_COLUMNS, memory_from_row
from .schema import insert_words, pinned_embedding, reference_schema
from .writes import add_tag


def rebuild(connection: apsw.Connection, analyze: TextAnalyzer) -> None:
    """Everything but vectors, which need a model: those that are unfit are dropped, see `without_vectors`."""
    connection.execute("PRAGMA defer_foreign_keys = on").fetchall()
    _restore_schema(connection)
    connection.execute("REINDEX")
    # Before words come and go: their triggers expect the text index to be in step with them.
    connection.execute("INSERT INTO memory_text (memory_text) VALUES ('rebuild')")
    _drop_orphans(connection)
    _add_lost_tags(connection)
    _recount_tags(connection)
    _drop_unfit_vectors(connection)
    _add_words(connection, analyze)


def without_vectors(connection: apsw.Connection) -> list[tuple[int, Memory]]:
    rows = connection.execute(
        f"SELECT m.id, {MEMORY_COLUMNS} FROM memories m WHERE m.id NOT IN (SELECT memory_id FROM vectors)"  # noqa: S608
    )
    return [(cast("int", row[0]), memory_from_row(row[1:])) for row in rows]


def add_vectors(connection: apsw.Connection, memory_id: int, vectors: Sequence[Vector]) -> None:
    """Unless the memory has gone meanwhile, or has vectors again."""
    connection.executemany(
        """
        INSERT INTO vectors (memory_id, embedding) SELECT id, ? FROM memories
        WHERE id = ? AND (? OR id NOT IN (SELECT memory_id FROM vectors))
        """,
        [(vector.tobytes(), memory_id, number > 0) for number, vector in enumerate(vectors)],
    )


def _restore_schema(connection: apsw.Connection) -> None:
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    for part in reference_schema():
        if part.name not in there and part.kind != "table":
            connection.execute(part.sql)


def _drop_orphans(connection: apsw.Connection) -> None:
    for table in ("memory_tags", "vectors", "memory_words", "feedback"):
        connection.execute(f"DELETE FROM {table} WHERE memory_id NOT IN (SELECT id FROM memories)")  # noqa: S608


def _add_lost_tags(connection: apsw.Connection) -> None:
    """A tag whose row was lost is made again from what its memories say of it."""
    lost = connection.execute(
        """
        SELECT mt.memory_id, m.namespace, mt.position, mt.display
        FROM memory_tags mt JOIN memories m ON m.id = mt.memory_id WHERE mt.tag_id NOT IN (SELECT id FROM tags)
        """
    ).fetchall()
    connection.execute("DELETE FROM memory_tags WHERE tag_id NOT IN (SELECT id FROM tags)")
    for memory_id, namespace, position, display in lost:
        add_tag(connection, *cast("tuple[int, str, int, str]", (memory_id, namespace, position, display)))


def _drop_unfit_vectors(connection: apsw.Connection) -> None:
    _, dimension = pinned_embedding(connection)
    unfit = list(unfit_vectors(connection, dimension))
    connection.execute("DELETE FROM vectors WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(unfit),))


def _recount_tags(connection: apsw.Connection) -> None:
    connection.execute("UPDATE tags SET memories = (SELECT count(*) FROM memory_tags mt WHERE mt.tag_id = tags.id)")
    connection.execute("DELETE FROM tags WHERE memories = 0")


def _add_words(connection: apsw.Connection, analyze: TextAnalyzer) -> None:
    rows = connection.execute(
        f"SELECT m.id, {MEMORY_COLUMNS} FROM memories m"  # noqa: S608
        " WHERE m.id NOT IN (SELECT memory_id FROM memory_words)"
    ).fetchall()
    for memory_id, *columns in rows:
        memory = memory_from_row(tuple(columns))
        insert_words(connection, cast("int", memory_id), analyze(memory.content, memory.tags))
