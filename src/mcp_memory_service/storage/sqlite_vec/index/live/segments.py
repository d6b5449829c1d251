"""The segments of an index: that of its file, and a delta of what came or changed since the file was made."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...text_index import Tokens
from ..format.quantization import Quantizer
from ..format.segment import (
    NAME,
    TAG,
    WORD,
    Chunks,
    Documents,
    FixedPostings,
    GrowingPostings,
    Key,
    Mask,
    Segment,
    tag_term,
    term_keys,
)
from ..format.segment_file import SegmentData
from ..query.corpus import Corpus
from ..query.reader import IndexReader
from ..query.topk import positions_in
from ..source import Batch, DocumentRow, NameCodes, Position, encoded_chunks, encoded_documents

MIN_OUTSIDE = 4_096
MAX_OUTSIDE = 50_000
"""A tenth of the memories may be outside of the file, within these bounds."""
MIN_RENEWED = 1_000
"""And a hundredth, but no fewer than this, when nothing more is written."""
FIRST_CAPACITY = 256


class Segments:
    """For one thread at a time. The readers it makes are for any."""

    def __init__(self, data: SegmentData) -> None:
        header = data.header
        self._base = _base_segment(data.columns)
        self._key = term_keys(header.salt)
        self._quantizer = Quantizer(data.columns["mean"], data.exact)
        self._namespaces = NameCodes(header.namespaces)
        self._memory_types = NameCodes(header.memory_types)
        self._delta = DeltaSegment(self._key, self._quantizer, self._namespaces, self._memory_types)
        self._base_live: Mask | None = None
        self._delta_live: Mask | None = None
        self._gone = 0
        self._corpora = _corpora(self._base.documents)
        self._file = data.file
        self.in_memory = data.exact
        """Whether there is no file of it: vectors are kept as they are where they are few."""
        self.position = header.position
        self.changed_since: list[int] = data.columns["changed_since"].tolist()
        """The memories that must be read again before this is what the rows were at `position`."""
        self.is_whole = True
        """False while a change is applied, and for ever if that failed."""

    @property
    def needs_rebuild(self) -> bool:
        """Whether so much is outside of the file that a new one is due. A memory that has changed counts as one that is
        gone and one that has come."""
        outside = self._delta.size + self._gone
        return outside > min(max(MIN_OUTSIDE, self._base.size // 10), MAX_OUTSIDE)

    @property
    def is_worth_rebuilding(self) -> bool:
        """Whether enough is outside of the file for a new one once there is time: it takes more memory and more time to
        search, and has to be read by every process that starts."""
        return is_worth_rebuilding(self._delta.size + self._gone, self._base.size)

    def reader(self) -> IndexReader:
        segments = [replace(self._base, live=self._base_live)]
        if self._delta.size:
            segments.append(replace(self._delta.segment(), first=self._base.size, live=self._delta_live))
        return IndexReader(
            position=self.position,
            segments=tuple(segments),
            quantizer=self._quantizer,
            dimension=self._quantizer.mean.size,
            key=self._key,
            namespaces=self._namespaces,
            memory_types=self._memory_types,
            corpora=self._corpora,
            file=self._file,
        )

    def apply(self, changed: Sequence[int], now: Batch, tokens: Tokens, position: Position) -> None:
        """Forget the memories that have changed, and add those of them that are still there as they are now. Masks are
        copied: readers that were made before keep what they show."""
        self.is_whole = False
        ids = np.unique(np.array(changed, np.int64))
        self._base_live = self._without(self._base.documents, self._base_live, self._base.places(ids))
        if self._delta.size:
            self._delta_live = self._without(self._delta.documents(), self._delta_live, self._delta.places(ids))
        if now.documents:
            added = self._delta.add(now, tokens)
            if self._delta_live is not None:
                self._delta_live = np.append(self._delta_live, np.ones(len(now.documents), np.bool_))
            self._count(_corpora(added), 1)
        self.position = position
        self.is_whole = True

    def _without(self, documents: Documents, live: Mask | None, places: NDArray[np.intp]) -> Mask | None:
        if live is not None:
            places = places[live[places]]
        if not places.size:
            return live
        live = np.ones(documents.memory_ids.size, np.bool_) if live is None else live.copy()
        live[places] = False
        self._gone += places.size
        self._count(_corpora(documents, places), -1)
        return live

    def _count(self, changed: Mapping[int, Corpus], sign: int) -> None:
        """In a new mapping: readers that were made before keep theirs."""
        counted = dict(self._corpora)
        for code, corpus in changed.items():
            known = counted.get(code, Corpus(0, 0))
            counted[code] = Corpus(known.documents + sign * corpus.documents, known.tokens + sign * corpus.tokens)
        self._corpora = {code: corpus for code, corpus in counted.items() if corpus.documents}


def is_worth_rebuilding(outside: int, documents: int) -> bool:
    return outside > max(MIN_RENEWED, documents // 100)


def _corpora(documents: Documents, places: NDArray[np.intp] | slice = slice(None)) -> dict[int, Corpus]:
    """How much each namespace has among these documents, by its code."""
    codes, lengths = documents.namespaces[places], documents.lengths[places]
    counts = np.bincount(codes)
    tokens = np.bincount(codes, lengths)  # as floats, which are exact up to 2^53
    return {code: Corpus(int(counts[code]), int(tokens[code])) for code in counts.nonzero()[0].tolist()}


def _base_segment(columns: Mapping[str, NDArray[Any]]) -> Segment:
    documents = Documents(**{field.name: columns[field.name] for field in fields(Documents)})
    names, starts = columns["session_names"], columns["session_starts"]
    return Segment.of(
        documents,
        Chunks(**{field.name: columns[f"chunk_{field.name}"] for field in fields(Chunks)}),
        postings=FixedPostings(
            columns["term_keys"], columns["term_starts"], columns["term_documents"], columns["term_frequencies"]
        ).of,
        # A file is in the order of the ids.
        places=lambda memory_ids: positions_in(documents.memory_ids, memory_ids)[1],
        session=lambda code: bytes(names[starts[code] : starts[code + 1]]).decode(),
    )


class DeltaSegment:
    """One thread adds; the segments it gives out keep what they show."""

    def __init__(self, key: Key, quantizer: Quantizer, namespaces: NameCodes, memory_types: NameCodes) -> None:
        self._key = key
        self._quantizer = quantizer
        self._namespaces = namespaces
        self._memory_types = memory_types
        self._sessions = NameCodes()
        self._documents = GrowingColumns()
        self._chunks = GrowingColumns(upright=("codes", "stored") if quantizer.exact else ("codes",))
        self._postings = GrowingPostings()
        self._place_of: dict[int, int] = {}
        self.size = 0

    def documents(self) -> Documents:
        return Documents(**self._documents.rows())

    def segment(self) -> Segment:
        documents, chunks = self.documents(), self._chunks.rows()
        return Segment.of(
            documents,
            Chunks(**chunks | {"codes": chunks["codes"].T}),
            postings=partial(self._postings.of, self.size),
            places=lambda memory_ids: np.flatnonzero(np.isin(documents.memory_ids, memory_ids)),
            session=self._sessions.names.__getitem__,
        )

    def places(self, memory_ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where these memories are, as far as they are here; of one that came twice, the last."""
        asked = memory_ids.tolist()
        return np.array([self._place_of[each] for each in asked if each in self._place_of], np.intp)

    def add(self, batch: Batch, tokens: Tokens) -> Documents:
        rows = batch.documents
        lengths = [self._add_terms(row, self.size + place, tokens) for place, row in enumerate(rows)]
        added = encoded_documents(rows, lengths, self._namespaces, self._memory_types, self._sessions)
        chunks = encoded_chunks(batch, self.size, self._quantizer)
        self._chunks.add(vars(chunks) | {"codes": chunks.codes.T})
        self._documents.add(vars(added))
        self._place_of |= {row.memory_id: self.size + place for place, row in enumerate(rows)}
        self.size += len(rows)
        return added

    def _add_terms(self, row: DocumentRow, place: int, tokens: Tokens) -> int:
        """Returns how many tokens there are."""
        words, names = tokens(row.labels) + tokens(row.words), tokens(row.names)
        tags = [tag_term(row.namespace, tag) for tag in json.loads(row.tags)]
        for kind, terms in ((WORD, words), (NAME, names), (TAG, tags)):
            for term, frequency in Counter(terms).items():
                self._postings.add(self._key(kind, term), place, frequency)
        return len(words) + len(names)


class GrowingColumns:
    """One thread adds rows, while others read those that were there before. `upright` names the columns of several
    numbers that are read number by number for all rows: each number has its rows side by side."""

    def __init__(self, upright: Collection[str] = ()) -> None:
        self._upright = upright
        self._columns: dict[str, NDArray[Any]] = {}
        self._used = 0

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
