"""Memories and their vectors as columns."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .....hybrid_search.columns.digests import DIGEST_BYTES
from ..source import Batch, DocumentRow
from .quantization import Quantizer, as_bytes

NONE = -1
"""The code of a name that is not there."""
NO_SEQUENCE = np.iinfo(np.int64).min

FIRST_CAPACITY = 256


class NameCodes:
    """Numbers for names, in the order in which they came. Grows in one thread while others look names up."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._codes: dict[str, int] = {}
        self.names: list[str] = []
        for name in names:
            self.add(name)

    def add(self, name: str | None) -> int:
        if name is None:
            return NONE
        code = self._codes.get(name)
        if code is None:
            code = len(self.names)
            self.names.append(name)
            self._codes[name] = code
        return code

    def get(self, name: str) -> int | None:
        return self._codes.get(name)


@dataclass(frozen=True, slots=True)
class Documents:
    """One row for each memory."""

    memory_ids: NDArray[np.int64]
    hashes: NDArray[np.uint8]
    """The bytes of content_hash."""
    created_at: NDArray[np.int64]
    namespaces: NDArray[np.int32]
    memory_types: NDArray[np.int32]
    sessions: NDArray[np.int32]
    sequences: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    """In tokens, of all that the text index has of it."""

    def __len__(self) -> int:
        return self.memory_ids.size


@dataclass(frozen=True, slots=True)
class Chunks:
    """One row for each vector."""

    documents: NDArray[np.int32]
    """The rows of their memories."""
    stored: NDArray[np.int8]
    scales: NDArray[np.float32]
    codes: NDArray[np.uint64]
    """One column for each vector, not a row."""

    def __len__(self) -> int:
        return self.documents.size


class GrowingColumns:
    """Rows are added in one thread, while others read those that were there before. `upright` names the columns of
    several numbers that are read number by number for all rows: each number has its rows side by side."""

    def __init__(self, upright: Collection[str] = ()) -> None:
        self._upright = upright
        self._columns: dict[str, NDArray[Any]] = {}
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def add(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """All have as many rows."""
        for name, added in columns.items():
            used = self._used + len(added)
            column = self._columns.get(name)
            if column is None or used > len(column):
                shape = (max(used, 2 * self._used, FIRST_CAPACITY), *added.shape[1:])
                roomy = np.empty(shape, added.dtype, order="F" if name in self._upright else "C")
                if column is not None:
                    roomy[: self._used] = column[: self._used]
                self._columns[name] = column = roomy
            column[self._used : used] = added
        self._used += len(next(iter(columns.values())))

    def rows(self) -> dict[str, NDArray[Any]]:
        return {name: column[: self._used] for name, column in self._columns.items()}


def columns_of(rows: Documents | Chunks) -> dict[str, NDArray[Any]]:
    return {field.name: getattr(rows, field.name) for field in fields(rows)}


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
        sessions=np.array([sessions.add(row.session) for row in rows], np.int32),
        sequences=np.array([NO_SEQUENCE if row.sequence is None else row.sequence for row in rows], np.int64),
        lengths=np.array(lengths, np.uint32),
    )


def encoded_chunks(batch: Batch, first_document: int, quantizer: Quantizer) -> Chunks:
    stored, scales = as_bytes(batch.vectors)
    return Chunks(
        documents=(batch.places + first_document).astype(np.int32),
        stored=stored,
        scales=scales,
        codes=quantizer.codes(batch.vectors),
    )


def is_one_each(documents: Documents, chunks: Chunks) -> bool:
    return len(documents) == len(chunks) and bool((chunks.documents == np.arange(len(documents))).all())


def has_sessions(documents: Documents) -> bool:
    return bool((documents.sessions != NONE).any() or (documents.sequences != NO_SEQUENCE).any())
