"""A new database from the rows of a damaged one: nothing but the truth has to be readable, see tables.py."""

from contextlib import suppress
from typing import cast

import apsw

from ....models import Progress
from ...ports import TextAnalyzer
from ..file.connection import immediate_transaction
from ..queries.writes import add_tag
from ..rows import memory_by_id
from ..schema import insert_words
from ..tables import KEPT, TABLES
from .replacement import UNREADABLE


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
            memory = memory_by_id(into, memory_id)
            assert memory is not None
            insert_words(into, memory_id, analyze(memory.content, memory.tags))
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
