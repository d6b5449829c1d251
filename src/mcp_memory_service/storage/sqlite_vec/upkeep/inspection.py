"""Whether a store file is sound.

Which tables are the truth and which can be made again is in tables.py, how they are is in repair.py.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from typing import TypeAlias, cast

import apsw
import numpy as np

from ....errors import SchemaTooNew
from ....models import Progress, identity_hash
from ....models.upkeep import DATABASE_DAMAGED, Finding, Inspection
from ....product_names import DISTRIBUTION
from ..file.connection import open_database
from ..rows import memory_by_id
from ..schema import MIGRATIONS, parts_of_others, pinned_embedding, reference_schema, schema_version
from ..tables import COUNTED, TABLES, TRUTH

Check: TypeAlias = Callable[[apsw.Connection], Iterator[Finding]]

MAX_MESSAGES = 20

TABLE_MISSING = "table_missing"

AWAITING = "awaits_vectors IS NOT NULL AND kind IS NOT NULL"
AWAITING_IN_VAIN = "awaits_vectors IS NOT NULL AND id IN (SELECT memory_id FROM vectors)"
NO_OBJECT = "NOT json_valid({0}) OR json_type({0}) != 'object'"


def inspect(
    connection: apsw.Connection,
    progress: Progress,
    in_turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Inspection:
    """Run every check; of a file of an older version, only those that know nothing of tables.

    Reads take a snapshot each. The text index is compared in a write transaction, for FTS5 has no other way: `in_turn`
    puts that in the order of writers.
    """
    findings = _guarded(connection, _database)
    version = _version(connection)
    if version == 0:
        findings.append(Finding("schema_version_lost", "It does not say which version it has.", rebuildable=False))
    elif version is not None:
        findings += _guarded(connection, foreign)
    if version == len(MIGRATIONS) and all(finding.rebuildable for finding in findings):
        for number, check in enumerate(CHECKS, start=1):
            findings += _guarded(connection, check)
            progress("Checking", number, len(CHECKS) + 1)
        if connection.readonly("main"):
            findings += _guarded(connection, _text_index_of_a_copy)
        else:
            with in_turn():
                findings += _guarded(connection, _text_index)
        progress("Checking", len(CHECKS) + 1, len(CHECKS) + 1)
    if version == len(MIGRATIONS) and any(finding.code == DATABASE_DAMAGED for finding in findings):
        readable = _rows_are_readable(connection)
        findings = [replace(each, rebuildable=readable) if each.code == DATABASE_DAMAGED else each for each in findings]
    counts = {table: _count(connection, table) for table in COUNTED}
    waiting, is_older = _count(connection, f"memories WHERE {AWAITING}"), is_older_version(version or 0)
    return Inspection(
        version or 0, **counts, findings=tuple(findings), is_older=is_older, warnings=(), awaiting_vectors=waiting
    )


def is_older_version(version: int) -> bool:
    return 0 < version < len(MIGRATIONS)


def _rows_are_readable(connection: apsw.Connection) -> bool:
    """Whether all that cannot be made again is there, read without indexes."""
    try:
        if any(_tree_is_damaged(connection, table) for table in TRUTH):
            return False
        for memory_id, namespace in connection.execute("SELECT id, namespace FROM memories NOT INDEXED").fetchall():
            if not namespace or not _is_intact(connection, cast("int", memory_id)):
                return False
        for table in TRUTH - {"memories"}:
            connection.execute(f"SELECT * FROM {table} NOT INDEXED").fetchall()  # noqa: S608
    except (apsw.Error, ValueError):
        return False
    return True


def _tree_is_damaged(connection: apsw.Connection, table: str) -> bool:
    """Rows may be missing from such a tree without an error. Asked for one table, SQLite looks at its tree first, so
    that neither the limit of its messages nor a broken index, at which it gives up, hides anything of it."""
    root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).get
    with suppress(apsw.CorruptError):
        for (message,) in connection.execute(f"PRAGMA integrity_check({table})"):
            if re.search(rf"Tree {root}\b", str(message)):
                return True
    return False


def _version(connection: apsw.Connection) -> int | None:
    try:
        version = schema_version(connection)
    except apsw.Error:  # the findings say so
        return None
    if version > len(MIGRATIONS):
        raise SchemaTooNew(f"It has schema version {version}, not {len(MIGRATIONS)}: upgrade {DISTRIBUTION}.")
    return version


def _guarded(connection: apsw.Connection, check: Check) -> list[Finding]:
    """What a check finds. Whatever keeps it from looking is a finding as well: a flipped bit can end in any error of
    SQLite, or in text that is none."""
    try:
        return list(check(connection))
    except (apsw.BusyError, apsw.LockedError):
        raise
    except (apsw.Error, ValueError, TypeError) as error:
        return [Finding(DATABASE_DAMAGED, f"The database cannot be read: {error}", rebuildable=False)]


def _count(connection: apsw.Connection, rows: str) -> int:
    try:
        return int(connection.execute(f"SELECT count(*) FROM {rows}").get)  # noqa: S608
    except apsw.Error:  # too damaged to count, as the findings say, or of an older version
        return 0


def _database(connection: apsw.Connection) -> Iterator[Finding]:
    for (message,) in connection.execute(f"PRAGMA integrity_check({MAX_MESSAGES})"):
        text = str(message)
        if text == "ok" or "FTS5" in text:  # the text index has a check of its own
            continue
        of_an_index = " index " in text and ("missing from" in text or "wrong #" in text or "non-unique" in text)
        yield Finding("index_damaged" if of_an_index else DATABASE_DAMAGED, text, rebuildable=of_an_index)


def _schema(connection: apsw.Connection) -> Iterator[Finding]:
    there = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE sql IS NOT NULL")}
    made_from = {table.name: table.made_from for table in TABLES}
    for part in reference_schema():
        if part.name not in there:
            code = TABLE_MISSING if part.kind == "table" else "schema_incomplete"
            source = made_from.get(part.name)
            how = f" It can be made again from {source}." if source else ""
            yield Finding(code, f"The {part.kind} {part.name} is missing.{how}", part.name not in TRUTH)


def foreign(connection: apsw.Connection) -> Iterator[Finding]:
    """What would run with our writes and is not of ours, or not as we make it; of any version."""
    ours = {part.name for part in reference_schema()}
    for part in parts_of_others(connection)[:MAX_MESSAGES]:
        if part.name in ours:
            yield Finding("schema_changed", f"The {part.kind} {part.name} is not as it was made.", rebuildable=False)
        else:
            message = f"The {part.kind} {part.name[:80]!r} is not of this program."
            yield Finding("schema_foreign", message, rebuildable=False)


def _orphans(connection: apsw.Connection) -> Iterator[Finding]:
    by_tables: dict[tuple[str, str], int] = {}
    for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        key = (str(table), str(parent))
        by_tables[key] = by_tables.get(key, 0) + 1
    for (table, parent), number in by_tables.items():
        yield Finding("orphans", f"{number} rows of {table} belong to no row of {parent}.")


def _content(connection: apsw.Connection) -> Iterator[Finding]:
    ids = [cast("int", memory_id) for (memory_id,) in connection.execute("SELECT id FROM memories")]
    changed = [memory_id for memory_id in ids if not _is_intact(connection, memory_id)]
    for memory_id in changed[:MAX_MESSAGES]:
        kept = connection.execute("SELECT CAST(content_hash AS BLOB) FROM memories WHERE id = ?", (memory_id,)).get
        name = cast("bytes", kept or b"").decode(errors="replace")
        yield Finding("content_changed", f"The memory {name} is not as it was stored.", rebuildable=False)
    malformed = connection.execute(f"SELECT count(*) FROM memories WHERE {NO_OBJECT.format('metadata')}").get  # noqa: S608
    if malformed:
        yield Finding("metadata_malformed", f"{malformed} memories have metadata that is no JSON object.", False)


def _is_intact(connection: apsw.Connection, memory_id: int) -> bool:
    """Whether all of a memory can be read, and it still has the id that it was stored under."""
    try:
        memory = memory_by_id(connection, memory_id)
    except ValueError:  # text or JSON that is none
        return False
    if memory is None:
        return True
    return identity_hash(memory.kind, memory.source, memory.anchor, memory.content) == memory.content_hash


def _vectors(connection: apsw.Connection) -> Iterator[Finding]:
    missing = len(lacking_vectors(connection))
    if missing:
        yield Finding("vectors_missing", f"{missing} memories have no vector, so no search by meaning finds them.")
    done = connection.execute(f"SELECT count(*) FROM memories WHERE {AWAITING_IN_VAIN}").get  # noqa: S608
    if done:
        yield Finding("awaiting_wrong", f"{done} memories wait for vectors that they have.")
    model, dimension = pinned_embedding(connection)
    any_vector = connection.execute("SELECT count(*) FROM vectors").get > 0
    if model is None or (dimension is None and any_vector):
        yield Finding("model_unknown", "The store does not say which model its vectors are of.", rebuildable=False)
        return
    unfit = sum(1 for _ in unfit_vectors(connection, dimension))
    if unfit:
        yield Finding("vectors_unfit", f"{unfit} vectors are not of {dimension} finite numbers, or are zero.")


def lacking_vectors(connection: apsw.Connection) -> list[int]:
    """The ids of memories that have none, and do not wait for them, as plain ones never do."""
    waiting = {memory_id for (memory_id,) in connection.execute(f"SELECT id FROM memories WHERE {AWAITING}")}  # noqa: S608
    return [memory_id for memory_id in memories_without(connection, "vectors") if memory_id not in waiting]


def memories_without(connection: apsw.Connection, table: str) -> list[int]:
    """The ids of memories that have no row there."""
    rows = connection.execute(f"SELECT id FROM memories WHERE id NOT IN (SELECT memory_id FROM {table})")  # noqa: S608
    return [cast("int", memory_id) for (memory_id,) in rows]


def unfit_vectors(connection: apsw.Connection, dimension: int | None) -> Iterator[int]:
    """The ids of vectors that cannot be compared with others."""
    for vector_id, blob in connection.execute("SELECT id, embedding FROM vectors"):
        data = cast("bytes", blob)
        numbers = np.frombuffer(data, dtype=np.float32) if len(data) % 4 == 0 else np.empty(0, dtype=np.float32)
        if numbers.size != dimension or not np.isfinite(numbers).all() or not numbers.any():
            yield cast("int", vector_id)


def _tags(connection: apsw.Connection) -> Iterator[Finding]:
    wrong = connection.execute(
        "SELECT count(*) FROM tags t WHERE memories = 0"
        " OR memories != (SELECT count(*) FROM memory_tags mt WHERE mt.tag_id = t.id)"
    ).get
    if wrong:
        yield Finding("tag_counts_wrong", f"{wrong} tags do not say how many memories carry them.")
    if connection.execute("SELECT count(*) FROM store_info WHERE key = 'tags_version'").get == 0:
        yield Finding("tags_version_missing", "No number tells processes that tags have changed.")
    astray = connection.execute(
        "SELECT count(*) FROM memory_tags mt JOIN tags t ON t.id = mt.tag_id JOIN memories m ON m.id = mt.memory_id"
        " WHERE t.namespace != m.namespace"
    ).get
    if astray:
        yield Finding("tags_astray", f"{astray} tags of memories lie in another namespace.", rebuildable=False)


def _sources(connection: apsw.Connection) -> Iterator[Finding]:
    malformed = connection.execute(f"SELECT count(*) FROM sources WHERE {NO_OBJECT.format('details')}").get  # noqa: S608
    if malformed:
        yield Finding("sources_malformed", f"What is known of {malformed} files is no JSON: they are read again.")


def _words(connection: apsw.Connection) -> Iterator[Finding]:
    missing = len(memories_without(connection, "memory_words"))
    if missing:
        yield Finding("words_missing", f"{missing} memories have no words, so no search by words finds them.")


def _namespaces(connection: apsw.Connection) -> Iterator[Finding]:
    counted = """
        SELECT m.namespace, count(w.memory_id), coalesce(sum(w.tokens), 0)
        FROM memories m LEFT JOIN memory_words w ON w.memory_id = m.id GROUP BY m.namespace
    """
    wrong = connection.execute(
        f"""
        SELECT count(DISTINCT namespace) FROM (
            SELECT * FROM ({counted} EXCEPT SELECT namespace, memories, tokens FROM namespaces)
            UNION ALL SELECT * FROM (SELECT namespace, memories, tokens FROM namespaces EXCEPT {counted})
        )
        """  # noqa: S608
    ).get
    if wrong:
        yield Finding("namespace_counts_wrong", f"{wrong} namespaces do not say how many memories and words they have.")


def _text_index_of_a_copy(connection: apsw.Connection) -> Iterator[Finding]:
    """A file that cannot be written cannot be asked."""
    with closing(open_database(":memory:")) as copy:
        with copy.backup("main", connection, "main") as copying:
            copying.step(-1)
        yield from _text_index(copy)


def _text_index(connection: apsw.Connection) -> Iterator[Finding]:
    """With rank 1 the index is compared with the words; PRAGMA integrity_check does not do that."""
    try:
        connection.execute("INSERT INTO memory_text (memory_text, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        yield Finding("text_index_out_of_step", "The text index does not have the words of the memories.")


CHECKS: tuple[Check, ...] = (_schema, _orphans, _content, _vectors, _tags, _sources, _words, _namespaces)
