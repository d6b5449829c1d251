"""The tables, as a list of migrations; a file is brought up to date in one transaction when it is opened."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

import apsw

from ...errors import EmbeddingMismatch, ForeignStore, SchemaTooNew, StoreCorrupt
from ...models import IndexedText
from ..ports import TextAnalyzer
from .file.connection import BUSY_TIMEOUT_MILLISECONDS, immediate_transaction, open_database, translated_errors
from .foreign_parts import SchemaRow, foreign_parts

# "MMS" and a version byte, kept in the file's header so that another program's database is recognised as such.
APPLICATION_ID = 0x4D4D5301
BACKUP_MARK = b"MCPMEMBK"
"""The last bytes of a backup, which tell it from a store."""

TEXT_TOKENIZER = ("unicode61", ["remove_diacritics", "0", "categories", "L* M* N* P* S* C*"])
"""Of `memory_text` since version 2."""

_VERSION_1 = """
CREATE TABLE store_info (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Content comes last: what searches filter by is then read without touching the pages of a long text.
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    memory_type TEXT,
    source TEXT,
    session TEXT,
    sequence INTEGER,
    metadata TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (namespace, content_hash)
) STRICT;
CREATE INDEX memories_by_time ON memories (namespace, created_at DESC, content_hash);

CREATE TABLE tags (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    folded TEXT NOT NULL,
    display TEXT NOT NULL,
    memories INTEGER NOT NULL DEFAULT 0,
    UNIQUE (namespace, folded)
) STRICT;
CREATE TABLE memory_tags (
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    tag_id INTEGER NOT NULL REFERENCES tags (id),
    position INTEGER NOT NULL,
    display TEXT NOT NULL,
    PRIMARY KEY (memory_id, tag_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_tags_by_tag ON memory_tags (tag_id, memory_id);
CREATE TRIGGER memory_tags_added AFTER INSERT ON memory_tags BEGIN
    UPDATE tags SET memories = memories + 1 WHERE id = new.tag_id;
END;
CREATE TRIGGER memory_tags_removed AFTER DELETE ON memory_tags BEGIN
    UPDATE tags SET memories = memories - 1 WHERE id = old.tag_id;
    DELETE FROM tags WHERE id = old.tag_id AND memories = 0;
END;

-- One row for each chunk of a memory's text. A plain table, not vec0: filters of any kind run inside the query,
-- there is no limit of 4,096 neighbours, and it is read back five times as fast (docs/adr/0002).
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    embedding BLOB NOT NULL
) STRICT;
CREATE INDEX vectors_by_memory ON vectors (memory_id);

CREATE VIRTUAL TABLE memory_text USING fts5 (
    content, content = 'memories', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO memory_text (memory_text, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER memories_text_added AFTER INSERT ON memories BEGIN
    INSERT INTO memory_text (rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER memories_text_removed AFTER DELETE ON memories BEGIN
    INSERT INTO memory_text (memory_text, rowid, content) VALUES ('delete', old.id, old.content);
END;
"""

# The words come from our own analyzer and are kept, so that the index can be checked against them and forgets what is
# deleted: a contentless index keeps deleted words in the file (88 of 100 in a trial).
_VERSION_2 = """
DROP TRIGGER memories_text_added;
DROP TRIGGER memories_text_removed;
DROP TABLE memory_text;

CREATE TABLE memory_words (
    memory_id INTEGER PRIMARY KEY REFERENCES memories (id),
    labels TEXT NOT NULL,
    words TEXT NOT NULL,
    names TEXT NOT NULL
) STRICT;
-- Everything but separators belongs to a word: the analyzer has done the rest.
CREATE VIRTUAL TABLE memory_text USING fts5 (
    labels, words, names, content = 'memory_words', content_rowid = 'memory_id',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);
INSERT INTO memory_text (memory_text, rank) VALUES ('secure-delete', 1);
-- Tells every process that the list of tags has changed.
INSERT INTO store_info (key, value) VALUES ('tags_version', '0');
CREATE TRIGGER tags_added AFTER INSERT ON tags BEGIN
    UPDATE store_info SET value = value + 1 WHERE key = 'tags_version';
END;
CREATE TRIGGER tags_removed AFTER DELETE ON tags BEGIN
    UPDATE store_info SET value = value + 1 WHERE key = 'tags_version';
END;

CREATE TRIGGER memory_words_added AFTER INSERT ON memory_words BEGIN
    INSERT INTO memory_text (rowid, labels, words, names)
    VALUES (new.memory_id, new.labels, new.words, new.names);
END;
CREATE TRIGGER memory_words_removed AFTER DELETE ON memory_words BEGIN
    INSERT INTO memory_text (memory_text, rowid, labels, words, names)
    VALUES ('delete', old.memory_id, old.labels, old.words, old.names);
END;
"""

_VERSION_3 = """
CREATE INDEX memories_by_session ON memories (namespace, session, sequence) WHERE session IS NOT NULL;
-- How many memories have a word.
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab (memory_text, row);

CREATE TABLE feedback (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    query TEXT NOT NULL,
    useful INTEGER NOT NULL CHECK (useful IN (0, 1)),
    created_at INTEGER NOT NULL,
    UNIQUE (memory_id, query)
) STRICT;
-- AUTOINCREMENT: a version that was rolled back is never given again.
CREATE TABLE tunings (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    weights TEXT NOT NULL,
    queries INTEGER NOT NULL,
    before REAL NOT NULL,
    after REAL NOT NULL,
    rolled_back INTEGER NOT NULL DEFAULT 0
) STRICT;
"""

_VERSION_4 = """
-- Requests that were carried out, so that they are not carried out again. Digests only.
CREATE TABLE requests (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    found_memory INTEGER NOT NULL CHECK (found_memory IN (0, 1)),
    PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_by_time ON requests (received_at);
"""

# An index outside of this file asks what has changed since it was last brought up to date.
_VERSION_5 = """
CREATE TABLE changes (
    sequence INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL,
    -- Tells the log of this file from another one that has as many entries, such as that of an older copy.
    mark INTEGER NOT NULL DEFAULT (random())
) STRICT;
INSERT INTO changes (memory_id) VALUES (0);
CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
    INSERT INTO changes (memory_id) VALUES (new.id);
END;
CREATE TRIGGER memories_changed AFTER UPDATE ON memories BEGIN
    INSERT INTO changes (memory_id) VALUES (new.id);
END;
CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
    INSERT INTO changes (memory_id) VALUES (old.id);
END;
-- Who has missed more than that reads all rows faster than the log.
CREATE TRIGGER changes_bounded AFTER INSERT ON changes WHEN new.sequence % 1000 = 0 BEGIN
    DELETE FROM changes WHERE sequence <= new.sequence - 100000;
END;
"""

# A column that is added stands behind the text. A plain memory has no kind: SQLite reads that, as all that is NULL,
# from the head of a row, and not from the pages of a long text before it (a filter by kind over 2,000 texts of 100,000
# characters takes 1.8 ms of CPU, and 47 ms if the kind is written out). Other kinds are cut to fit into a page.
_VERSION_6 = """
ALTER TABLE memories ADD COLUMN kind TEXT;
ALTER TABLE memories ADD COLUMN anchor TEXT;
-- To replace a source; plain memories do not belong to theirs.
CREATE INDEX memories_by_source ON memories (namespace, source) WHERE kind IS NOT NULL;

-- With row ids: without them SQLite reads all rows from the index by name, which covers them, and a repair could not
-- get past that index when it is damaged.
CREATE TABLE memory_names (
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (memory_id, position)
) STRICT;
CREATE INDEX memory_names_by_name ON memory_names (name, memory_id);

-- An edge belongs to the memory it starts from. What it leads to is a name or a content_hash, and need not be there.
CREATE TABLE edges (
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    kind TEXT NOT NULL,
    by_name INTEGER NOT NULL CHECK (by_name IN (0, 1)),
    target TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (memory_id, kind, by_name, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_by_target ON edges (target, by_name, memory_id);

ALTER TABLE requests RENAME TO idempotency_keys;
DROP INDEX requests_by_time;
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (received_at);
"""


def _fill_words(connection: apsw.Connection, analyze: TextAnalyzer) -> None:
    tags = "(SELECT json_group_array(display ORDER BY position) FROM memory_tags WHERE memory_id = id)"
    for (memory_id,) in connection.execute("SELECT id FROM memories").fetchall():
        row = connection.execute(f"SELECT content, {tags} FROM memories WHERE id = ?", (memory_id,))  # noqa: S608
        content, labels = row.get
        insert_words(connection, cast("int", memory_id), analyze(content, json.loads(labels)))


def insert_words(connection: apsw.Connection, memory_id: int, text: IndexedText) -> None:
    connection.execute(
        "INSERT INTO memory_words (memory_id, labels, words, names) VALUES (?, ?, ?, ?)",
        (memory_id, text.labels, text.words, text.names),
    )


class Migration(NamedTuple):
    script: str
    then: Callable[[apsw.Connection, TextAnalyzer], None] | None = None
    """What SQL alone cannot do, in the same transaction."""


MIGRATIONS: tuple[Migration, ...] = (
    Migration(_VERSION_1),
    Migration(_VERSION_2, _fill_words),
    Migration(_VERSION_3),
    Migration(_VERSION_4),
    Migration(_VERSION_5),
    Migration(_VERSION_6),
)
"""Number n brings a file of version n to n + 1; a released one is never changed."""


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
                f"{path} has schema version {version}, this program knows {len(migrations)}: upgrade"
                " mcp-memory-service."
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


def pin_embedding(connection: apsw.Connection, model_id: str, dimension: int | None) -> None:
    """Write down model and dimension on first use, and refuse any other from then on."""
    pinned_model, pinned_dimension = pinned_embedding(connection)
    if pinned_model is not None and pinned_model != model_id:
        raise EmbeddingMismatch(
            f"This store was made with the embedding model {pinned_model!r}, but {model_id!r} is configured. Vectors of"
            " different models cannot be compared: set the MCP_MEMORY_EMBEDDING_* variables back, or name a new file"
            " with MCP_MEMORY_SQLITE_PATH."
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
