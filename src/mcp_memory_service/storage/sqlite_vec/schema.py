"""The tables of a file, which is brought up to date in one transaction when it is opened."""

import os
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

import apsw

from ...errors import EmbeddingMismatch, ForeignStore, SchemaTooNew, StoreCorrupt
from ...product_names import DISTRIBUTION, OTHER_PRODUCT
from ..ports import TextAnalyzer
from .file.connection import BUSY_TIMEOUT_MILLISECONDS, immediate_transaction, open_database, translated_errors
from .foreign_parts import SchemaRow, foreign_parts
from .migrations import MIGRATIONS, Migration

# "MMS" and a version byte, kept in the file's header so that another program's database is recognised as such.
APPLICATION_ID = 0x4D4D5301
BACKUP_MARK = b"MCPMEMBK"
"""The last bytes of a backup, which tell it from a store."""


class SchemaPart(NamedTuple):
    kind: str
    name: str
    sql: str


@cache
def reference_schema() -> tuple[SchemaPart, ...]:
    """What a file that is up to date consists of."""
    with closing(apsw.Connection(":memory:")) as fresh:
        for migration in MIGRATIONS:
            fresh.execute(migration.script).fetchall()
        rows = fresh.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return tuple(SchemaPart(str(kind), str(name), str(sql)) for kind, name, sql in rows)


def require_ours(path: Path) -> None:
    """Refuse a file that is not a memory store, before anything about it is changed."""
    if path.stat().st_size == 0:
        return
    if is_backup(path):
        raise ForeignStore(
            f"{path} is a backup. Put it back with mcp-memory restore, into a file of its own if you like."
        )
    with translated_errors():
        try:
            ours = _is_ours(path, apsw.SQLITE_OPEN_READONLY)
        except apsw.ReadOnlyError:
            # Somebody died while making the file: its first change must be rolled back before it can be read.
            ours = _is_ours(path, apsw.SQLITE_OPEN_READWRITE)
        except apsw.SQLError as error:
            raise StoreCorrupt(f"{path} cannot be read as a database: {error}") from error
    if not ours and _is_of_other_product(path):
        raise ForeignStore(
            f"{path} looks like a store of {OTHER_PRODUCT}: name another file with MCP_MEMORY_SQLITE_PATH. Its memories"
            " come over as JSON Lines, with mcp-memory import; docs/names.md says how."
        )
    if not ours:
        raise ForeignStore(f"{path} is a database of another program, or its head is damaged; name another file.")


def require_own_parts(connection: apsw.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Refuse a store that has more in it than a store of its version, or something else."""
    foreign = parts_of_others(connection, migrations)
    if foreign:
        names = ", ".join(f"{part.kind} {part.name[:80]!r}" for part in foreign[:5])
        raise ForeignStore(
            f"{path} has parts that are not of this program, or not as it makes them ({names}): they could change what"
            " is stored. Take a store or backup that only this program has written; mcp-memory doctor tells more."
        )


def parts_of_others(connection: apsw.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> list[SchemaRow]:
    """Of a version that is not known yet nothing can be said."""
    version = schema_version(connection)
    if version > len(migrations):
        return []
    return foreign_parts(connection, [migration.script for migration in migrations[:version]])


def is_backup(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(BACKUP_MARK)), os.SEEK_SET)
        return file.read() == BACKUP_MARK


def _is_ours(path: Path, flags: int) -> bool:
    with closing(open_database(path, flags)) as connection:
        connection.set_busy_timeout(BUSY_TIMEOUT_MILLISECONDS)
        has_tables = connection.execute("SELECT count(*) FROM sqlite_schema").get > 0
        return not has_tables or connection.execute("PRAGMA application_id").get == APPLICATION_ID


def _is_of_other_product(path: Path) -> bool:
    with translated_errors(), closing(open_database(path, apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.set_busy_timeout(BUSY_TIMEOUT_MILLISECONDS)
        columns = connection.execute("SELECT name FROM pragma_table_info('memories')").fetchall()
        vectors = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'memory_embeddings'").get
        return bool(vectors) and ("content_hash",) in columns


def prepare(
    connection: apsw.Connection,
    path: Path,
    model_id: str,
    dimension: int | None,
    analyze: TextAnalyzer,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> None:
    """Create or migrate the tables and pin the embedding model; refuse a file that is too new for us."""
    with translated_errors(), immediate_transaction(connection):
        version = schema_version(connection)
        if version > len(migrations):
            raise SchemaTooNew(
                f"{path} has schema version {version}, this program knows {len(migrations)}: upgrade {DISTRIBUTION}."
            )
        require_own_parts(connection, path, migrations)  # before anything is written: a trigger would run with it
        for migration in migrations[version:]:
            connection.execute(migration.script).fetchall()
            if migration.then:
                migration.then(connection, analyze)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}").fetchall()
        connection.execute(f"PRAGMA user_version = {len(migrations)}").fetchall()
        pin_embedding(connection, model_id, dimension)


def is_current(connection: apsw.Connection, model_id: str, dimension: int | None) -> bool:
    """Whether there is nothing to prepare."""
    return schema_version(connection) == len(MIGRATIONS) and pinned_embedding(connection) == (model_id, dimension)


def schema_version(connection: apsw.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").get)


def pinned_embedding(connection: apsw.Connection) -> tuple[str | None, int | None]:
    """The model and dimension that the vectors of this store were made with."""
    rows = connection.execute("SELECT key, value FROM store_info WHERE key LIKE 'embedding_%'").fetchall()
    info = {str(key): str(value) for key, value in rows}
    dimension = info.get("embedding_dimension")
    return info.get("embedding_model"), int(dimension) if dimension else None


def require_unchanged(connection: apsw.Connection, model_id: str) -> int | None:
    """While a service runs, another process may upgrade the file or restore a backup into it. Returns the dimension."""
    version = schema_version(connection)
    if version != len(MIGRATIONS):
        raise SchemaTooNew(
            f"The store was brought to schema version {version} by another version of this program while this one"
            f" ran, which knows {len(MIGRATIONS)}: restart it with that version."
        )
    pinned_model, dimension = pinned_embedding(connection)
    if pinned_model != model_id:
        raise EmbeddingMismatch(
            f"The store now holds vectors of the embedding model {pinned_model!r}, not of {model_id!r}: restart"
            " with its model."
        )
    return dimension


def pin_embedding(connection: apsw.Connection, model_id: str, dimension: int | None) -> None:
    """Write down model and dimension on first use, and refuse any other from then on."""
    pinned_model, pinned_dimension = pinned_embedding(connection)
    if pinned_model is not None and pinned_model != model_id:
        raise EmbeddingMismatch(
            f"This store was made with the embedding model {pinned_model!r}, but {model_id!r} is configured. Vectors of"
            " different models cannot be compared: set the MCP_MEMORY_EMBEDDING_* variables back, name a new file with"
            " MCP_MEMORY_SQLITE_PATH, or copy this one to a new file with mcp-memory migrate, which embeds it anew."
        )
    if pinned_dimension is not None and dimension is not None and pinned_dimension != dimension:
        raise EmbeddingMismatch(
            f"This store holds vectors of {pinned_dimension} numbers, but the configured model {model_id!r} makes"
            f" {dimension}: set MCP_MEMORY_EMBEDDING_DIMENSION={pinned_dimension} or name a new file."
        )
    values = {"embedding_model": model_id, "embedding_dimension": dimension}
    connection.executemany(
        "INSERT OR IGNORE INTO store_info (key, value) VALUES (?, ?)",
        [(key, str(value)) for key, value in values.items() if value is not None],
    )
