"""What an index holds, and how it moves from one reader to the next."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from ..format.columns import Chunks, Documents, NameCodes, has_sessions, is_one_each
from ..format.postings import FixedPostings, term_keys
from ..format.quantization import Quantizer
from ..format.segment_file import Position, SegmentFile
from ..query.reader import IndexReader, Mask, Segment
from ..query.topk import found_in
from ..source import Batch, Tokens
from .delta_segment import DeltaSegment

MIN_OUTSIDE = 4_096
MAX_OUTSIDE = 50_000
"""A tenth of the memories may be outside of a snapshot, within these bounds."""
MIN_RENEWED = 1_000
"""And a hundredth, but no fewer than this, when nothing more is written."""


class Segments:
    """A snapshot and all that has changed since; for one thread at a time. The readers it makes are for any."""

    def __init__(self, snapshot: SegmentFile) -> None:
        header = snapshot.header
        self._base = _base_part(snapshot)
        self._key = term_keys(bytes.fromhex(header.salt))
        self._quantizer = Quantizer(snapshot.columns["mean"])
        self._namespaces = NameCodes(header.namespaces)
        self._memory_types = NameCodes(header.memory_types)
        self._delta = DeltaSegment(self._key, self._quantizer, self._namespaces, self._memory_types)
        self._base_live: Mask | None = None
        self._tail_live: Mask | None = None
        self._gone = 0
        self._tokens = header.tokens
        self._per_namespace = dict(_counted(self._base.documents.namespaces))
        self.position = header.position
        self.changed_since: list[int] = snapshot.columns["changed_since"].tolist()
        """The memories that must be read again before this is what the rows were at `position`."""
        self.is_whole = True
        """False while a change is taken in, and for ever if that failed."""

    @property
    def needs_rebuild(self) -> bool:
        """Whether so much has come or gone since the snapshot was made that a new one is due."""
        return self._outside > min(max(MIN_OUTSIDE, len(self._base.documents) // 10), MAX_OUTSIDE)

    @property
    def is_worth_rebuilding(self) -> bool:
        """Whether enough has come or gone for a new snapshot once there is time: what is outside of one takes more
        memory and more time to search, and has to be read by every process that starts."""
        return is_worth_rebuilding(self._outside, len(self._base.documents))

    @property
    def _outside(self) -> int:
        """A memory that has changed counts as one that is gone and one that has come."""
        return len(self._delta) + self._gone

    def reader(self) -> IndexReader:
        segments = [replace(self._base, live=self._base_live)]
        if len(self._delta):
            segments.append(self._delta.segment(self._tail_live))
        return IndexReader(
            position=self.position,
            segments=tuple(segments),
            quantizer=self._quantizer,
            dimension=self._quantizer.mean.size,
            key=self._key,
            namespaces=self._namespaces,
            memory_types=self._memory_types,
            documents=sum(self._per_namespace.values()),
            tokens=self._tokens,
            per_namespace=dict(self._per_namespace),
        )

    def apply(self, changed: Sequence[int], now: Batch, tokens: Tokens, position: Position) -> None:
        """Forget the memories that have changed, and take those of them that are still there as they are now."""
        self.is_whole = False
        self._forget(changed)
        if now.documents:
            self._add(now, tokens)
        self.position = position
        self.is_whole = True

    def _forget(self, changed: Sequence[int]) -> None:
        """In copies: readers that were made before keep what they show."""
        ids = np.unique(np.array(changed, np.int64))
        self._base_live = self._without(self._base.documents, self._base_live, _places(self._base.documents, ids))
        if len(self._delta):
            places = self._delta.places(ids)
            self._tail_live = self._without(self._delta.documents(), self._tail_live, places)

    def _without(self, documents: Documents, live: Mask | None, places: NDArray[np.intp]) -> Mask | None:
        if live is not None:
            places = places[live[places]]
        if not places.size:
            return live
        live = np.ones(len(documents), np.bool_) if live is None else live.copy()
        live[places] = False
        self._gone += places.size
        self._tokens -= int(documents.lengths[places].sum(dtype=np.int64))
        for code, count in _counted(documents.namespaces[places]):
            self._per_namespace[code] -= count
        return live

    def _add(self, batch: Batch, tokens: Tokens) -> None:
        added = self._delta.add(batch, tokens)
        if self._tail_live is not None:
            self._tail_live = np.concatenate((self._tail_live, np.ones(len(added), np.bool_)))
        self._tokens += int(added.lengths.sum(dtype=np.int64))
        for code, count in _counted(added.namespaces):
            self._per_namespace[code] = self._per_namespace.get(code, 0) + count


def is_worth_rebuilding(outside: int, documents: int) -> bool:
    return outside > max(MIN_RENEWED, documents // 100)


def _base_part(snapshot: SegmentFile) -> Segment:
    columns = snapshot.columns
    postings = FixedPostings(
        columns["term_keys"], columns["term_starts"], columns["term_documents"], columns["term_frequencies"]
    )
    names, starts = columns["session_names"], columns["session_starts"]
    documents = Documents(**{field.name: columns[field.name] for field in fields(Documents)})
    chunks = Chunks(**{field.name: columns[f"chunk_{field.name}"] for field in fields(Chunks)})
    return Segment(
        documents=documents,
        chunks=chunks,
        live=None,
        one_chunk_each=is_one_each(documents, chunks),
        has_sessions=has_sessions(documents),
        occurrences=postings.of,
        places=lambda memory_ids: _places(documents, memory_ids),
        session=lambda code: bytes(names[starts[code] : starts[code + 1]]).decode(),
    )


def _places(documents: Documents, memory_ids: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where these memories are in a snapshot, which is in the order of their ids."""
    _, places = found_in(documents.memory_ids, memory_ids)
    return places


def _counted(codes: NDArray[np.int32]) -> list[tuple[int, int]]:
    """How often each comes."""
    values, counts = np.unique(codes, return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))
