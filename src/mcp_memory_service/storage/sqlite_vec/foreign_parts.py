"""What a file has in it that this program did not put there: a trigger or view of others would run with our writes."""

from collections.abc import Sequence
from contextlib import closing
from functools import cache
from typing import NamedTuple

import apsw


class SchemaRow(NamedTuple):
    kind: str
    name: str
    table: str
    sql: str | None
    """As it was written but for white space; None for what SQLite makes by itself for a constraint."""


# What ANALYZE leaves, which anybody may run.
STATISTICS = frozenset(
    SchemaRow("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (("sqlite_stat1", "tbl,idx,stat"), ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"))
)


def foreign_parts(connection: apsw.Connection, scripts: Sequence[str]) -> list[SchemaRow]:
    """What these scripts do not make, or not in this form. Nothing of it runs while it is read."""
    known = _made_by(tuple(scripts)) | STATISTICS
    return [row for row in _rows(connection) if row not in known]


@cache
def _made_by(scripts: tuple[str, ...]) -> frozenset[SchemaRow]:
    with closing(apsw.Connection(":memory:")) as fresh:
        for script in scripts:
            fresh.execute(script).fetchall()
        return frozenset(_rows(fresh))


def _rows(connection: apsw.Connection) -> list[SchemaRow]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    return [
        SchemaRow(str(kind), str(name), str(table), None if sql is None else " ".join(str(sql).split()))
        for kind, name, table, sql in rows
    ]
