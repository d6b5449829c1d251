"""The memories an index is made of: the log of their changes, their rows, and these as columns."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import apsw
import numpy as np
from numpy.typing import NDArray

from ....hybrid_search.columns.digests import DIGEST_BYTES
from ....models import MemoryKind
from ..schema import pinned_embedding
from .format.quantization import Quantizer
from .format.segment import KIND_CODES, NEVER, NO_SEQUENCE, NONE, Chunks, Documents


class Position(NamedTuple):
    """A place in the log of changes. The mark is a random number: it tells this log from another one that also has a
    change of that number, as after a backup was put back."""

    sequence: int
    mark: int


class DocumentRow(NamedTuple):
    memory_id: int
    namespace: str
    content_hash: str
    created_at: int
    memory_type: str | None
    kind: MemoryKind
    session: str | None
    sequence: int | None
    expires_at: int | None
    labels: str
    words: str
    names: str
    tags: str
    """Folded, as a JSON array."""


COLUMNS_OF_ROW = """
    m.id, m.namespace, m.content_hash, m.created_at, m.memory_type, coalesce(m.kind, 'memory'), m.session, m.sequence,
    m.expires_at, w.labels, w.words, w.names,
    (SELECT json_group_array(t.folded) FROM memory_tags mt JOIN tags t ON t.id = mt.tag_id WHERE mt.memory_id = m.id)
"""

IS_INDEXED = "instr(m.namespace, '#') = 0"
"""Histories and trash are searched rarely or never: without them, most stores have one namespace, which is faster."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Memories in the order of their ids, with their vectors."""

    documents: list[DocumentRow]
    places: NDArray[np.int64]
    """Of each vector: the place of its memory in `documents`."""
    vectors: NDArray[np.float32]


def newest_position(connection: apsw.Connection) -> Position:
    row = connection.execute("SELECT sequence, mark FROM changes ORDER BY sequence DESC LIMIT 1").fetchone()
    return Position(*cast("tuple[int, int]", row)) if row else Position(0, 0)


def follows(connection: apsw.Connection, position: Position) -> bool:
    """Whether the log still has this change, so that all later ones can be read from it. A log of another history has
    another mark there, or nothing."""
    row = connection.execute("SELECT mark FROM changes WHERE sequence = ?", (position.sequence,)).fetchone()
    return row is not None and row[0] == position.mark


def batch_of(connection: apsw.Connection, memory_ids: Sequence[int]) -> Batch:
    """These memories, as far as they are there."""
    rows = connection.execute(
        f"""
        SELECT {COLUMNS_OF_ROW} FROM json_each(?) asked CROSS JOIN memories m ON m.id = asked.value
        JOIN memory_words w ON w.memory_id = m.id WHERE {IS_INDEXED} ORDER BY m.id
        """,  # noqa: S608
        (json.dumps(list(memory_ids)),),
    )
    return with_vectors(connection, list(map(DocumentRow._make, rows)))


def with_vectors(connection: apsw.Connection, documents: list[DocumentRow]) -> Batch:
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


class NameCodes:
    """Numbers for names, in the order in which they came. Grows in one thread while others look names up."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.codes: dict[str, int] = {}
        self.names: list[str] = []
        for name in names:
            self.add(name)

    def add(self, name: str | None) -> int:
        if name is None:
            return NONE
        code = self.codes.get(name)
        if code is None:
            code = len(self.names)
            self.names.append(name)
            self.codes[name] = code
        return code


def encoded_documents(
    rows: Sequence[DocumentRow],
    lengths: Sequence[int],
    namespaces: NameCodes,
    memory_types: NameCodes,
    sessions: NameCodes,
) -> Documents:
    digests = np.frombuffer(bytes.fromhex("".join(row.content_hash for row in rows)), np.uint8)
    return Documents(
        memory_ids=np.array([row.memory_id for row in rows], np.int64),
        hashes=digests.reshape(len(rows), DIGEST_BYTES),
        created_at=np.array([row.created_at for row in rows], np.int64),
        namespaces=np.array([namespaces.add(row.namespace) for row in rows], np.int32),
        memory_types=np.array([memory_types.add(row.memory_type) for row in rows], np.int32),
        kinds=np.array([KIND_CODES.get(row.kind, NONE) for row in rows], np.int8),
        sessions=np.array([sessions.add(row.session) for row in rows], np.int32),
        sequences=np.array([NO_SEQUENCE if row.sequence is None else row.sequence for row in rows], np.int64),
        expires_at=np.array([NEVER if row.expires_at is None else row.expires_at for row in rows], np.int64),
        lengths=np.array(lengths, np.uint32),
    )


def encoded_chunks(batch: Batch, first_document: int, quantizer: Quantizer) -> Chunks:
    stored, scales = quantizer.stored(batch.vectors)
    return Chunks(
        documents=(batch.places + first_document).astype(np.int32),
        stored=stored,
        scales=scales,
        codes=quantizer.codes(batch.vectors),
    )
