"""What a filter leaves of the documents of an index, and how much text that is."""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from .....models import MemoryFilter
from ..format.segment import KIND_CODES, NONE, Mask, Segment

UNKNOWN = NONE - 1
"""The code of a memory_type or a kind that no document has; NONE is that of those without one."""


class Corpus(NamedTuple):
    """How much text a namespace has, or what a filter leaves of it."""

    documents: int
    tokens: int

    @classmethod
    def of(cls, segments: Sequence[Segment], masks: "Sequence[Mask | None]") -> "Corpus":
        documents = tokens = 0
        for segment, mask in zip(segments, masks, strict=True):
            lengths = segment.documents.lengths if mask is None else segment.documents.lengths[mask]
            documents, tokens = documents + lengths.size, tokens + int(lengths.sum(dtype=np.int64))
        return cls(documents, tokens)

    @property
    def mean_length(self) -> float:
        return self.tokens / self.documents if self.tokens else 1.0


NO_CORPUS = Corpus(0, 0)


class Selection(NamedTuple):
    """The documents of a corpus."""

    namespace: str
    masks: "Sequence[Mask | None]"
    """Of each segment; None for one of which all belong to it."""
    corpus: Corpus
    is_whole: bool
    """Whether it is all of the namespace."""


def corpus_mask(
    segment: Segment, where: MemoryFilter, namespace: int | None, types: Sequence[int], tagged: Mask | None
) -> Mask | None:
    """Which documents of a segment belong to the corpus of a filter: those of the namespace (None for any) and of one
    of these types, by their codes, and with its tags, kinds and times; None if all do."""
    documents = segment.documents
    conditions = [condition for condition in (segment.live, tagged) if condition is not None]
    if namespace is not None:
        conditions.append(documents.namespaces == namespace)
    if len(types) == 1:
        conditions.append(documents.memory_types == types[0])
    elif types:
        conditions.append(np.isin(documents.memory_types, types))
    if where.kinds:
        conditions.append(np.isin(documents.kinds, [KIND_CODES.get(kind, UNKNOWN) for kind in where.kinds]))
    if where.after is not None:
        conditions.append(documents.created_at >= where.after)
    if where.before is not None:
        conditions.append(documents.created_at < where.before)
    return reduce(np.logical_and, conditions) if conditions else None
