"""Sums of what terms add to documents, for the documents that can be among the best.

Terms come strongest first. Once so many documents are ahead that the terms that are left cannot lift another one among
them, those terms are only looked up for documents that are already in the race (MaxScore; Turtle and Flood, 1995). The
sums of the best can then be made once more in the order of the query, to be equal to those of FTS5 to the last bit.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .cutting import last_of_best
from .postings import Occurrences
from .view import Mask

WORTH_SKIPPING = 20_000
"""So many documents of a term are added up as fast as it is found out whether they must be."""
SLACK = 1e-9
"""More than sums in another order can differ, relative to the sum."""

_of_thread = threading.local()


@dataclass(frozen=True, slots=True)
class Term:
    found: Occurrences
    bound: float
    """The most it adds to any document; more than 0."""
    shares: Callable[[NDArray[np.intp], NDArray[np.float64]], NDArray[np.float64]]
    """What it adds to documents that have it so often."""

    def of(self, places: "NDArray[np.intp] | slice", documents: NDArray[np.intp]) -> NDArray[np.float64]:
        return self.shares(documents, self.found.frequencies[places].astype(np.float64))


def best_sums(
    terms: Sequence[Term], size: int, mask: Mask | None, limit: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """At least the `limit` best documents of a part of `size`, with all that are equal to the last of them, and their
    sums, but for the last bits."""
    if len(terms) == 1:
        documents = terms[0].found.documents.astype(np.intp)
        sums = terms[0].of(slice(None), documents)
        return (documents, sums) if mask is None else (documents[mask[documents]], sums[mask[documents]])
    sums = _zeros(size)
    touched: list[NDArray[np.intp]] = []
    try:
        _add_all(terms, sums, touched, mask, limit)
        reached = _passing(touched, mask)
        found = sums[reached]
    finally:
        for documents in touched:
            sums[documents] = 0.0
    if found.size > limit:
        leading = found >= last_of_best(found, limit) * (1.0 - SLACK)
        reached, found = reached[leading], found[leading]
    return reached, found


def _add_all(
    terms: Sequence[Term],
    sums: NDArray[np.float64],
    touched: list[NDArray[np.intp]],
    mask: Mask | None,
    limit: int,
) -> None:
    strongest_first = sorted(terms, key=lambda term: -term.bound)
    left = sum(term.bound for term in terms)
    least = 0.0  # what a document must reach at the least
    for term in strongest_first:
        documents = term.found.documents.astype(np.intp)
        if documents.size >= WORTH_SKIPPING and touched:
            reached = sums[_passing(touched, mask)]
            least = last_of_best(reached, limit) * (1.0 - SLACK) if reached.size >= limit else 0.0
        so_far = sums[documents]
        if left < least:
            running = np.flatnonzero(so_far >= least - left)
            sums[documents[running]] = so_far[running] + term.of(running, documents[running])
        else:
            touched.append(documents[so_far == 0.0])
            sums[documents] = so_far + term.of(slice(None), documents)
        left -= term.bound


def _passing(touched: Sequence[NDArray[np.intp]], mask: Mask | None) -> NDArray[np.intp]:
    documents = np.concatenate(touched) if touched else np.empty(0, np.intp)
    return documents if mask is None else documents[mask[documents]]


def sums_in_order(terms: Sequence[Term], documents: NDArray[np.intp]) -> NDArray[np.float64]:
    """The sums of a few documents, to the last bit as they are in the order of the terms."""
    sums = np.zeros(documents.size, np.float64)
    for term in terms:
        having = term.found.documents
        if not having.size:
            continue
        places = np.minimum(np.searchsorted(having, documents.astype(having.dtype)), having.size - 1)
        there = np.flatnonzero(having[places] == documents)
        sums[there] += term.of(places[there], documents[there])
    return sums


def _zeros(size: int) -> NDArray[np.float64]:
    """Kept by each thread, for making as many zeros anew takes longer than most sums; left as they were found."""
    zeros: NDArray[np.float64] | None = getattr(_of_thread, "zeros", None)
    if zeros is None or zeros.size < size:
        zeros = _of_thread.zeros = np.zeros(size, np.float64)
    return zeros
