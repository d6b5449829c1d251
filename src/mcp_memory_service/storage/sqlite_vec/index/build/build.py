"""Makes an index from the rows."""

import json
import secrets
from array import array
from collections import defaultdict
from dataclasses import fields
from itertools import count
from pathlib import Path
from typing import cast

import apsw
import numpy as np
from numpy.typing import NDArray

from ...schema import pinned_embedding
from ..format.columns import Chunks, Documents, NameCodes, encoded_chunks, encoded_documents
from ..format.postings import NAME, TAG, WORD, term_keys
from ..format.quantization import Quantizer
from ..format.segment_file import Column, Header, write_segment_file
from ..query.reader import tag_term
from ..source import AllRows, Batch, DocumentRow, Tokens, as_matrix, tokens_like

BATCH = 4_000
SAMPLED_VECTORS = 20_000


def build(connection: apsw.Connection, target: Path) -> None:
    """Read all rows and put the index of them in the place of an older one. It names what has changed after it was
    read; that is read again by who loads the index."""
    model_id, _ = pinned_embedding(connection)
    rows = AllRows(connection)
    made = _Columns(Quantizer.fitted(_sample(connection)), tokens_like(connection))
    for batch in rows.batches(BATCH):
        made.add(batch)
    columns = made.columns() | {"changed_since": np.array(sorted(rows.changed_since), np.int64)}
    write_segment_file(
        target,
        Header(
            position=rows.position,
            model_id=model_id or "",
            salt=made.terms.salt.hex(),
            tokens=made.tokens,
            namespaces=tuple(made.namespaces.names),
            memory_types=tuple(made.memory_types.names),
        ),
        columns,
    )


def _sample(connection: apsw.Connection) -> NDArray[np.float32]:
    """Drawn from all over the store: what was stored first may be about one thing."""
    rows = connection.execute(
        "SELECT embedding FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY random() LIMIT ?)",
        (SAMPLED_VECTORS,),
    ).fetchall()
    return as_matrix([cast("bytes", row[0]) for row in rows], pinned_embedding(connection)[1])


class _Columns:
    def __init__(self, quantizer: Quantizer, tokens: Tokens) -> None:
        self._quantizer = quantizer
        self._documents: list[Documents] = []
        self._windows: list[Chunks] = []
        self._size = 0
        self.namespaces = NameCodes()
        self.memory_types = NameCodes()
        self._sessions = NameCodes()
        self.terms = _Terms(tokens)
        self.tokens = 0

    def add(self, batch: Batch) -> None:
        lengths = self.terms.add(batch.documents, self._size)
        self.tokens += sum(lengths)
        self._documents.append(
            encoded_documents(batch.documents, lengths, self.namespaces, self.memory_types, self._sessions)
        )
        self._windows.append(encoded_chunks(batch, self._size, self._quantizer))
        self._size += len(batch.documents)

    def columns(self) -> dict[str, Column]:
        columns: dict[str, Column] = {"mean": self._quantizer.mean}
        for field in fields(Documents):
            columns[field.name] = np.concatenate([getattr(segment, field.name) for segment in self._documents])
        for field in fields(Chunks):
            segments = [getattr(segment, field.name) for segment in self._windows]
            columns[f"chunk_{field.name}"] = np.concatenate(segments, axis=1 if field.name == "codes" else 0)
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
        """Of each batch: terms, documents and how often, in the order of terms."""
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
        by_number, documents, frequencies = (np.concatenate(segments) for segments in zip(*self._counted, strict=True))
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
        """With another salt if two terms have one key, which is to be expected once in millions of stores."""
        while True:
            key = term_keys(self.salt)
            keys = np.array([key(term[:1].encode(), term[1:]) for term in self._numbers], np.uint64)
            if np.unique(keys).size == keys.size:
                return keys
            self.salt = secrets.token_bytes(16)
