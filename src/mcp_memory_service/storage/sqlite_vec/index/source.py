"""The rows that an index is made of, in batches."""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, cast

import apsw
import numpy as np
from numpy.typing import NDArray

from ....errors import StorageUnavailable
from ..schema import TEXT_TOKENIZER, pinned_embedding
from .format.segment_file import Position

Tokens = Callable[[str], list[str]]


class DocumentRow(NamedTuple):
    memory_id: int
    namespace: str
    content_hash: str
    created_at: int
    memory_type: str | None
    session: str | None
    sequence: int | None
    labels: str
    words: str
    names: str
    tags: str
    """Folded, as a JSON array."""


_COLUMNS = """
    m.id, m.namespace, m.content_hash, m.created_at, m.memory_type, m.session, m.sequence, w.labels, w.words, w.names,
    (SELECT json_group_array(t.folded) FROM memory_tags mt JOIN tags t ON t.id = mt.tag_id WHERE mt.memory_id = m.id)
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Memories in the order of their ids, with their vectors."""

    documents: list[DocumentRow]
    places: NDArray[np.int64]
    """Of each vector: the place of its memory in `documents`."""
    vectors: NDArray[np.float32]


class AllRows:
    """All memories, batch by batch, each on a snapshot of its own: with one for all, SQLite could not empty its log
    while they are read. What changes meanwhile is known in the end."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._last_id = -1
        self.position = newest_position(connection)
        """All changes up to this one were read, but for those of `changed_since`."""
        self.changed_since: set[int] = set()
        """The memories that were changed or deleted after they were read."""

    def batches(self, size: int) -> Iterator[Batch]:
        while (batch := self._next(size)).documents:
            yield batch

    def _next(self, size: int) -> Batch:
        sql = f"""
            SELECT {_COLUMNS} FROM memories m JOIN memory_words w ON w.memory_id = m.id
            WHERE m.id > ? ORDER BY m.id LIMIT ?
        """  # noqa: S608
        with _one_snapshot(self._connection):
            self._note_changes()
            rows = list(map(DocumentRow._make, self._connection.execute(sql, (self._last_id, size))))
            batch = _with_vectors(self._connection, rows)
        if rows:
            self._last_id = rows[-1].memory_id
        return batch

    def _note_changes(self) -> None:
        newest = newest_position(self._connection)
        if newest == self.position:
            return
        if not follows(self._connection, self.position):
            raise StorageUnavailable("More has changed than the log of changes holds, or the store was restored.")
        changed = self._connection.execute(
            "SELECT DISTINCT memory_id FROM changes WHERE sequence > ? AND memory_id <= ?",
            (self.position.sequence, self._last_id),
        )
        self.changed_since.update(cast("int", row[0]) for row in changed)
        self.position = newest


@contextmanager
def _one_snapshot(connection: apsw.Connection) -> Generator[None, None, None]:
    with connection:  # a savepoint: of its own, or of the transaction there is
        yield


def batch_of(connection: apsw.Connection, memory_ids: Sequence[int]) -> Batch:
    """These memories, as far as they are there."""
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM json_each(?) asked CROSS JOIN memories m ON m.id = asked.value
        JOIN memory_words w ON w.memory_id = m.id ORDER BY m.id
        """,  # noqa: S608
        (json.dumps(list(memory_ids)),),
    )
    return _with_vectors(connection, list(map(DocumentRow._make, rows)))


def _with_vectors(connection: apsw.Connection, documents: list[DocumentRow]) -> Batch:
    place_of = {row.memory_id: place for place, row in enumerate(documents)}
    rows = connection.execute(
        """
        SELECT v.memory_id, v.embedding
        FROM json_each(?) asked CROSS JOIN vectors v ON v.memory_id = asked.value
        """,
        (json.dumps(list(place_of)),),
    ).fetchall()
    return Batch(
        documents,
        np.array([place_of[cast("int", row[0])] for row in rows], np.int64),
        as_matrix([cast("bytes", row[1]) for row in rows], pinned_embedding(connection)[1]),
    )


def as_matrix(embeddings: Sequence[bytes], dimension: int | None) -> NDArray[np.float32]:
    """One row for each; a store may have memories without vectors, after a repair that was not finished."""
    return np.frombuffer(b"".join(embeddings), np.float32).reshape(len(embeddings), dimension or 0)


def newest_position(connection: apsw.Connection) -> Position:
    row = connection.execute("SELECT sequence, mark FROM changes ORDER BY sequence DESC LIMIT 1").fetchone()
    return Position(*cast("tuple[int, int]", row)) if row else Position(0, 0)


def follows(connection: apsw.Connection, position: Position) -> bool:
    """Whether the log still has this change, so that all later ones can be read from it. A log of another history has
    another mark there, or nothing."""
    row = connection.execute("SELECT mark FROM changes WHERE sequence = ?", (position.sequence,)).fetchone()
    return row is not None and row[0] == position.mark


def changes_after(connection: apsw.Connection, position: Position, most: int) -> list[tuple[int, int, int]]:
    """Sequence, mark and memory id of the next changes, oldest first."""
    rows = connection.execute(
        "SELECT sequence, mark, memory_id FROM changes WHERE sequence > ? ORDER BY sequence LIMIT ?",
        (position.sequence, most),
    )
    return cast("list[tuple[int, int, int]]", rows.fetchall())


def tokens_like(connection: apsw.Connection) -> Tokens:
    """Cuts indexed text as the text index of the database does."""
    tokenizer = connection.fts5_tokenizer(*TEXT_TOKENIZER)

    def tokens(text: str) -> list[str]:
        if text.isascii():  # then words of ours are words of FTS5
            return text.split()
        found = tokenizer(
            text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return cast("list[str]", found)

    return tokens
