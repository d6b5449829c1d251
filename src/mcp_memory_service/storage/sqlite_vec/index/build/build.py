"""Makes the file of an index from the rows."""

import json
import secrets
from array import array
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import count
from pathlib import Path
from typing import cast

import apsw
import numpy as np
from numpy.typing import NDArray

from .....errors import StorageUnavailable
from ...schema import pinned_embedding
from ...text_index import Tokens, tokens_like
from ..format.quantization import Quantizer
from ..format.segment import NAME, TAG, WORD, Chunks, Documents, tag_term, term_keys
from ..format.segment_file import Column, Header, SegmentData, write_segment_file
from ..source import (
    COLUMNS_OF_ROW,
    IS_INDEXED,
    Batch,
    DocumentRow,
    NameCodes,
    as_matrix,
    encoded_chunks,
    encoded_documents,
    follows,
    newest_position,
    with_vectors,
)

BATCH = 4_000
SAMPLED_VECTORS = 20_000


def build(connection: apsw.Connection, target: Path) -> None:
    """Read all rows and replace the file of the index."""
    write_segment_file(target, columns_of_rows(connection))


def columns_of_rows(connection: apsw.Connection, *, exact: bool = False) -> SegmentData:
    """All rows as columns, with vectors as they are or as bytes. They name the memories that changed after they were
    read, which are read again when the columns are used."""
    model_id, _ = pinned_embedding(connection)
    rows = AllRows(connection)
    made = _Columns(Quantizer.fitted(_sample(connection), exact=exact), tokens_like(connection))
    for batch in rows.batches(BATCH):
        made.add(batch)
    columns = made.columns() | {"changed_since": np.array(sorted(rows.changed_since), np.int64)}
    header = Header(
        position=rows.position,
        model_id=model_id or "",
        salt=made.terms.salt,
        namespaces=tuple(made.namespaces.names),
        memory_types=tuple(made.memory_types.names),
    )
    if exact:
        columns["chunk_stored"] = np.asfortranarray(columns["chunk_stored"])  # they are added dimension by dimension
    return SegmentData(header, columns, exact)


def _sample(connection: apsw.Connection) -> NDArray[np.float32]:
    """Drawn from all over the store: what was stored first may be about one thing."""
    rows = connection.execute(
        "SELECT embedding FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY random() LIMIT ?)",
        (SAMPLED_VECTORS,),
    ).fetchall()
    return as_matrix([cast("bytes", row[0]) for row in rows], pinned_embedding(connection)[1])


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
        sql = f"""
            SELECT {COLUMNS_OF_ROW} FROM memories m JOIN memory_words w ON w.memory_id = m.id
            WHERE m.id > ? AND {IS_INDEXED} ORDER BY m.id LIMIT ?
        """  # noqa: S608
        while True:
            with _one_snapshot(self._connection):
                self._note_changes()
                rows = list(map(DocumentRow._make, self._connection.execute(sql, (self._last_id, size))))
                batch = with_vectors(self._connection, rows)
            if not rows:
                return
            self._last_id = rows[-1].memory_id
            yield batch

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


class _Columns:
    def __init__(self, quantizer: Quantizer, tokens: Tokens) -> None:
        self._quantizer = quantizer
        self._documents: list[Documents] = []
        self._chunks: list[Chunks] = []
        self._size = 0
        self.namespaces = NameCodes()
        self.memory_types = NameCodes()
        self._sessions = NameCodes()
        self.terms = _Terms(tokens)

    def add(self, batch: Batch) -> None:
        lengths = self.terms.add(batch.documents, self._size)
        self._documents.append(
            encoded_documents(batch.documents, lengths, self.namespaces, self.memory_types, self._sessions)
        )
        self._chunks.append(encoded_chunks(batch, self._size, self._quantizer))
        self._size += len(batch.documents)

    def columns(self) -> dict[str, Column]:
        columns: dict[str, Column] = {"mean": self._quantizer.mean}
        for field in fields(Documents):
            columns[field.name] = np.concatenate([getattr(batch, field.name) for batch in self._documents])
        for field in fields(Chunks):
            of_batches = [getattr(batch, field.name) for batch in self._chunks]
            columns[f"chunk_{field.name}"] = np.concatenate(of_batches, axis=1 if field.name == "codes" else 0)
        names = [name.encode() for name in self._sessions.names]
        columns["session_names"] = np.frombuffer(b"".join(names), np.uint8)
        columns["session_starts"] = np.cumsum([0, *map(len, names)], dtype=np.int64)
        return columns | self.terms.columns()


class _Terms:
    """Counts the terms of documents, batch by batch."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        """Of each term, its kind in front of it, in the order in which they came."""
        self._counted: list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]] = []
        """Of each batch: terms, documents and frequencies, in the order of terms."""
        self.salt = secrets.token_bytes(16)

    def add(self, rows: list[DocumentRow], first_document: int) -> list[int]:
        """Returns how many tokens each document has."""
        terms = array("q")
        sizes: list[int] = []
        lengths: list[int] = []
        word, name, tag = WORD.decode(), NAME.decode(), TAG.decode()
        for row in rows:
            words, names = self._tokens(row.labels) + self._tokens(row.words), self._tokens(row.names)
            tags = [tag_term(row.namespace, each) for each in json.loads(row.tags)]
            of_kinds = ((word, words), (name, names), (tag, tags))
            terms.extend(self._numbers[kind + each] for kind, found in of_kinds for each in found)
            sizes.append(len(words) + len(names) + len(tags))
            lengths.append(len(words) + len(names))
        documents = np.repeat(np.arange(first_document, first_document + len(rows)), sizes)
        pairs, counts = np.unique(np.frombuffer(terms, np.int64) << 32 | documents, return_counts=True)
        self._counted.append(((pairs >> 32).astype(np.uint32), pairs.astype(np.uint32), counts.astype(np.uint32)))
        return lengths

    def columns(self) -> dict[str, Column]:
        by_number, documents, frequencies = (np.concatenate(columns) for columns in zip(*self._counted, strict=True))
        self._counted.clear()
        keys = self._keys()
        # From the order of numbers to that of keys; within a term, documents stay in order.
        order = np.argsort(keys)
        place_of = np.empty_like(order)
        place_of[order] = np.arange(order.size)
        by_place = place_of[by_number]
        sorting = np.argsort(by_place, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(by_place, minlength=order.size))))
        frequencies = frequencies[sorting]
        return {
            "term_keys": keys[order],
            "term_starts": starts.astype(np.int64),
            "term_documents": documents[sorting],
            "term_frequencies": frequencies.astype(np.min_scalar_type(int(frequencies.max(initial=0)))),
        }

    def _keys(self) -> NDArray[np.uint64]:
        """With another salt if two terms have one key, as one in millions of stores will."""
        while True:
            key = term_keys(self.salt)
            keys = np.array([key(term[:1].encode(), term[1:]) for term in self._numbers], np.uint64)
            if np.unique(keys).size == keys.size:
                return keys
            self.salt = secrets.token_bytes(16)
