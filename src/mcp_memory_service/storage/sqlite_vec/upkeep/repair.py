"""Makes right what can be made again from the rows: in place, or as a new database where pages are damaged.

What has to be readable for that, and what is made from what, is in tables.py.
"""

import json
from contextlib import suppress
from typing import cast

import apsw

from ....models import Progress
from ...ports import TextAnalyzer
from ..file.connection import immediate_transaction
from ..migrations import count_namespaces
from ..queries.writes import add_tag
from ..rows import memory_by_id
from ..schema import pinned_embedding, reference_schema
from ..tables import KEPT, OWNED, TABLES
from ..text_index import insert_words
from .inspection import AWAITING_IN_VAIN, NO_OBJECT, memories_without, unfit_vectors
from .replacement import UNREADABLE


def rebuild(connection: apsw.Connection, analyze: TextAnalyzer, *, drop_unfit_vectors: bool) -> None:
    """In place, in one write transaction: everything but vectors, which need a model. Those that are unfit can be
    dropped, to be made again."""
    connection.execute("PRAGMA defer_foreign_keys = on").fetchall()
    _restore_schema(connection)
    connection.execute("REINDEX")
    # Before words come and go: their triggers expect the text index to be in step with them.
    connection.execute("INSERT INTO memory_text (memory_text) VALUES ('rebuild')")
    for table, owner in OWNED:
        connection.execute(f"DELETE FROM {table} WHERE {owner} NOT IN (SELECT id FROM memories)")  # noqa: S608
    _add_lost_tags(connection)
    connection.execute("UPDATE tags SET memories = (SELECT count(*) FROM memory_tags mt WHERE mt.tag_id = tags.id)")
    connection.execute("DELETE FROM tags WHERE memories = 0")
    connection.execute(f"UPDATE memories SET awaits_vectors = NULL WHERE {AWAITING_IN_VAIN}")  # noqa: S608
    if drop_unfit_vectors:
        _drop_unfit_vectors(connection)
    connection.execute(f"DELETE FROM sources WHERE {NO_OBJECT.format('details')}")  # noqa: S608
    connection.execute("INSERT INTO store_info (key, value) VALUES ('tags_version', '1') ON CONFLICT DO NOTHING")
    for memory_id in memories_without(connection, "memory_words"):
        _add_words(connection, memory_id, analyze)
    count_namespaces(connection)
    # Nothing that was derived from the rows before holds any more.
    connection.execute("DELETE FROM changes")
    connection.execute("INSERT INTO changes (memory_id) VALUES (0)")


def _restore_schema(connection: apsw.Connection) -> None:
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    for part in reference_schema():
        if part.name not in there and part.kind != "table":
            connection.execute(part.sql)


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
    """With all others of the same memory: its chunks are made again together."""
    _, dimension = pinned_embedding(connection)
    unfit = list(unfit_vectors(connection, dimension))
    connection.execute(
        """
        DELETE FROM vectors WHERE memory_id IN
            (SELECT memory_id FROM vectors WHERE id IN (SELECT value FROM json_each(?)))
        """,
        (json.dumps(unfit),),
    )


def _add_words(connection: apsw.Connection, memory_id: int, analyze: TextAnalyzer) -> None:
    memory = memory_by_id(connection, memory_id)
    if memory is not None:
        insert_words(connection, memory_id, analyze(memory.content, memory.labels))


def salvage(damaged: apsw.Connection, into: apsw.Connection, analyze: TextAnalyzer, progress: Progress) -> None:
    """Fill a new store with the truth, and with what else can be read. Each other table is taken over whole or not at
    all: the vectors of a memory belong together."""
    with immediate_transaction(into):
        for table in TABLES:
            if table.role == "truth" and table.name != "memory_tags":  # tags get new numbers, see below
                _copy(damaged, into, table.name)
        ids = [cast("int", memory_id) for (memory_id,) in into.execute("SELECT id FROM memories").fetchall()]
        for number, memory_id in enumerate(ids, start=1):
            _tag(damaged, into, memory_id)
            _add_words(into, memory_id, analyze)
            progress("Rebuilding", number, len(ids))
    for name in KEPT:
        with suppress(*UNREADABLE), immediate_transaction(into):
            _copy(damaged, into, name)


def _copy(damaged: apsw.Connection, into: apsw.Connection, table: str) -> None:
    columns = len(into.execute(f"PRAGMA table_info({table})").fetchall())
    # By the table itself: its indexes may be what is damaged.
    rows = damaged.execute(f"SELECT * FROM {table} NOT INDEXED")  # noqa: S608
    into.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * columns)})", rows)  # noqa: S608


def _tag(damaged: apsw.Connection, into: apsw.Connection, memory_id: int) -> None:
    rows = damaged.execute(
        """
        SELECT m.namespace, mt.position, mt.display FROM memory_tags mt NOT INDEXED JOIN memories m NOT INDEXED
            ON m.id = mt.memory_id
        WHERE mt.memory_id = ? ORDER BY mt.position
        """,
        (memory_id,),
    ).fetchall()
    for namespace, position, display in rows:
        add_tag(into, memory_id, *cast("tuple[str, int, str]", (namespace, position, display)))
