"""The segment of an index that grows: memories that came or changed after the snapshot was made."""

import json
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..format.columns import (
    Chunks,
    Documents,
    GrowingColumns,
    NameCodes,
    columns_of,
    encoded_chunks,
    encoded_documents,
    has_sessions,
    is_one_each,
)
from ..format.postings import NAME, TAG, WORD, GrowingPostings, Key
from ..format.quantization import Quantizer
from ..query.reader import Mask, Segment, tag_term
from ..source import Batch, DocumentRow, Tokens


class DeltaSegment:
    """Added to by one thread; the segments it gives out keep what they show."""

    def __init__(self, key: Key, quantizer: Quantizer, namespaces: NameCodes, memory_types: NameCodes) -> None:
        self._key = key
        self._quantizer = quantizer
        self._namespaces = namespaces
        self._memory_types = memory_types
        self._sessions = NameCodes()
        self._documents = GrowingColumns()
        self._windows = GrowingColumns(upright=("codes",))
        self._postings = GrowingPostings()
        self._place_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def documents(self) -> Documents:
        return Documents(**self._documents.rows())

    def segment(self, live: Mask | None) -> Segment:
        documents, postings = self.documents(), self._postings
        columns = self._windows.rows()
        chunks = Chunks(**columns | {"codes": columns["codes"].T})
        return Segment(
            documents=documents,
            chunks=chunks,
            live=live,
            one_chunk_each=is_one_each(documents, chunks),
            has_sessions=has_sessions(documents),
            occurrences=lambda key: postings.of(key, len(documents)),
            places=lambda memory_ids: np.flatnonzero(np.isin(documents.memory_ids, memory_ids)),
            session=self._sessions.names.__getitem__,
        )

    def places(self, memory_ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where these memories are, as far as they are here; of one that came twice, the last."""
        asked = memory_ids.tolist()
        return np.array([self._place_of[each] for each in asked if each in self._place_of], np.intp)

    def add(self, batch: Batch, tokens: Tokens) -> Documents:
        first = len(self)
        lengths = [self._add_terms(row, first + place, tokens) for place, row in enumerate(batch.documents)]
        added = encoded_documents(batch.documents, lengths, self._namespaces, self._memory_types, self._sessions)
        chunks = encoded_chunks(batch, first, self._quantizer)
        self._windows.add(columns_of(chunks) | {"codes": chunks.codes.T})
        self._documents.add(columns_of(added))
        self._place_of |= {row.memory_id: first + place for place, row in enumerate(batch.documents)}
        return added

    def _add_terms(self, row: DocumentRow, place: int, tokens: Tokens) -> int:
        """Returns how many tokens there are."""
        words, names = tokens(row.labels) + tokens(row.words), tokens(row.names)
        tags = [tag_term(row.namespace, tag) for tag in json.loads(row.tags)]
        for kind, terms in ((WORD, words), (NAME, names), (TAG, tags)):
            for term, frequency in Counter(terms).items():
                self._postings.add(self._key(kind, term), place, frequency)
        return len(words) + len(names)
