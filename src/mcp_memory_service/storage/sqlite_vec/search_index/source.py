"""The rows that an index is made of, in batches."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import apsw
import numpy as np
from numpy.typing import NDArray

from ..schema import TEXT_TOKENIZER, pinned_embedding
from .snapshot import Header, Position

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


def batches(connection: apsw.Connection, size: int) -> Iterator[Batch]:
    """All memories, each batch as it is when it is read."""
    sql = f"""
        SELECT {_COLUMNS} FROM memories m JOIN memory_words w ON w.memory_id = m.id
        WHERE m.id > ? ORDER BY m.id LIMIT ?
    """  # noqa: S608
    last = -1
    while rows := list(map(DocumentRow._make, connection.execute(sql, (last, size)))):
        yield _with_vectors(connection, rows)
        last = rows[-1].memory_id


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
    """Whether the log still has this change, so that all later ones can be read from it."""
    row = connection.execute("SELECT mark FROM changes WHERE sequence = ?", (position.sequence,)).fetchone()
    return row is not None and row[0] == position.mark


def is_of_this_store(connection: apsw.Connection, header: Header) -> bool:
    """Whether all that an index holds came from these rows, and what it lacks can be read from the log."""
    return follows(connection, header.position) and follows(connection, header.latest)


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
