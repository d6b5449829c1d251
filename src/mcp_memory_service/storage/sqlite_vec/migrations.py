"""What brings a file of each version to the next; applied by schema.py."""

import json
from collections.abc import Callable
from typing import NamedTuple

import apsw

from ..ports import TextAnalyzer
from .text_index import token_count

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

# What BM25 and the caches have to know of a namespace, so that they ask nothing about the others (docs/adr/0016).
_VERSION_7 = """
ALTER TABLE memory_words ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;

CREATE TABLE namespaces (
    namespace TEXT PRIMARY KEY,
    memories INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    -- The number that the store had when a tag of this namespace last came or went: never given twice.
    tags_version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER namespaces_added AFTER INSERT ON memories BEGIN
    INSERT INTO namespaces (namespace, tags_version)
    SELECT new.namespace, coalesce((SELECT CAST(value AS INTEGER) FROM store_info WHERE key = 'tags_version'), 0)
    WHERE NOT EXISTS (SELECT 1 FROM namespaces WHERE namespace = new.namespace);
END;
-- The words of a memory come after it and go before it.
CREATE TRIGGER namespaces_removed AFTER DELETE ON memories BEGIN
    DELETE FROM namespaces WHERE namespace = old.namespace AND memories = 0;
END;
CREATE TRIGGER memory_words_counted AFTER INSERT ON memory_words BEGIN
    UPDATE namespaces SET memories = memories + 1, tokens = tokens + new.tokens
    WHERE namespace = (SELECT namespace FROM memories WHERE id = new.memory_id);
END;
CREATE TRIGGER memory_words_uncounted AFTER DELETE ON memory_words BEGIN
    UPDATE namespaces SET memories = memories - 1, tokens = tokens - old.tokens
    WHERE namespace = (SELECT namespace FROM memories WHERE id = old.memory_id);
END;
DROP TRIGGER tags_added;
CREATE TRIGGER tags_added AFTER INSERT ON tags BEGIN
    UPDATE store_info SET value = value + 1 WHERE key = 'tags_version';
    UPDATE namespaces SET tags_version =
        coalesce((SELECT CAST(value AS INTEGER) FROM store_info WHERE key = 'tags_version'), tags_version + 1)
    WHERE namespace = new.namespace;
END;
DROP TRIGGER tags_removed;
CREATE TRIGGER tags_removed AFTER DELETE ON tags BEGIN
    UPDATE store_info SET value = value + 1 WHERE key = 'tags_version';
    UPDATE namespaces SET tags_version =
        coalesce((SELECT CAST(value AS INTEGER) FROM store_info WHERE key = 'tags_version'), tags_version + 1)
    WHERE namespace = old.namespace;
END;
"""

# The life of a memory (docs/adr/0017). NULL is what nearly all of them have: it is read from the head of a row.
_VERSION_8 = """
ALTER TABLE memories ADD COLUMN pinned INTEGER CHECK (pinned = 1);
ALTER TABLE memories ADD COLUMN expires_at INTEGER;
ALTER TABLE memories ADD COLUMN edited_at INTEGER;
ALTER TABLE memories ADD COLUMN ended_at INTEGER;
CREATE INDEX memories_pinned ON memories (namespace, created_at DESC) WHERE pinned IS NOT NULL;
CREATE INDEX memories_by_expiry ON memories (namespace, expires_at) WHERE expires_at IS NOT NULL;

-- A memory is moved without its words and tags, which are counted by namespace.
CREATE TRIGGER namespaces_changed AFTER UPDATE OF namespace ON memories BEGIN
    INSERT INTO namespaces (namespace, tags_version)
    SELECT new.namespace, coalesce((SELECT CAST(value AS INTEGER) FROM store_info WHERE key = 'tags_version'), 0)
    WHERE NOT EXISTS (SELECT 1 FROM namespaces WHERE namespace = new.namespace);
    DELETE FROM namespaces WHERE namespace = old.namespace AND memories = 0
        AND NOT EXISTS (SELECT 1 FROM memories WHERE namespace = old.namespace);
END;
"""

# Notes and documents (docs/adr/0023).
_VERSION_9 = """
-- What is known of the files that memories come from, so that they are read again only if they changed.
CREATE TABLE sources (
    namespace TEXT NOT NULL,
    source TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (namespace, source)
) STRICT, WITHOUT ROWID;
-- Whether its vectors are still to be made: words are searched at once, and vectors come later.
ALTER TABLE memories ADD COLUMN awaits_vectors INTEGER CHECK (awaits_vectors = 1);
CREATE INDEX memories_awaiting_vectors ON memories (namespace) WHERE awaits_vectors IS NOT NULL;
"""


def _fill_words(connection: apsw.Connection, analyze: TextAnalyzer) -> None:
    tags = "(SELECT json_group_array(display ORDER BY position) FROM memory_tags WHERE memory_id = id)"
    for (memory_id,) in connection.execute("SELECT id FROM memories").fetchall():
        row = connection.execute(f"SELECT content, {tags} FROM memories WHERE id = ?", (memory_id,))  # noqa: S608
        content, labels = row.get
        text = analyze(content, json.loads(labels))
        connection.execute(
            "INSERT INTO memory_words (memory_id, labels, words, names) VALUES (?, ?, ?, ?)",
            (memory_id, text.labels, text.words, text.names),
        )


def _count_words(connection: apsw.Connection, _analyze: TextAnalyzer) -> None:
    for (memory_id,) in connection.execute("SELECT memory_id FROM memory_words").fetchall():
        parts = connection.execute("SELECT labels, words, names FROM memory_words WHERE memory_id = ?", (memory_id,))
        tokens = token_count(connection, parts.get)
        connection.execute("UPDATE memory_words SET tokens = ? WHERE memory_id = ?", (tokens, memory_id))
    count_namespaces(connection)


def count_namespaces(connection: apsw.Connection) -> None:
    """Make the table of namespaces from what it counts."""
    connection.execute("DELETE FROM namespaces")
    connection.execute(
        """
        INSERT INTO namespaces (namespace, memories, tokens, tags_version)
        SELECT m.namespace, count(w.memory_id), coalesce(sum(w.tokens), 0),
            coalesce((SELECT CAST(value AS INTEGER) FROM store_info WHERE key = 'tags_version'), 1)
        FROM memories m LEFT JOIN memory_words w ON w.memory_id = m.id GROUP BY m.namespace
        """
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
    Migration(_VERSION_7, _count_words),
    Migration(_VERSION_8),
    Migration(_VERSION_9),
)
"""Number n brings a file of version n to n + 1; a released one is never changed."""
