"""The documents with the greatest sums over several terms.

A few thousand postings are all scored. Where a term has very many, terms come strongest first: once the upper bounds of
those that are left cannot lift another document to the threshold, they are only looked up for the documents that are
candidates already (MaxScore; Turtle and Flood, 1995). Either way the sums of the best are made in the order of the
terms, to be equal to those from rows to the last bit.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ..format.segment import Mask, Postings
from .topk import kth_largest, positions_in

MIN_POSTINGS_TO_SKIP = 20_000
"""Below this many postings, scoring them costs less than deciding whether to skip them."""
LOOKUP_COST = 16
"""Looking one document up in the postings of a term takes as long as reading so many of them."""
SLACK = 1e-9
"""More than sums in another order can differ, relative to the sum."""

Places = NDArray[np.intp]
Numbers = NDArray[np.float64]

Score = Callable[[Places, Numbers, "Numbers | float"], Numbers]
"""From documents, the frequencies of a term in them and its weight to what it adds to each; also for the postings of
several terms at once, each with the weight of its term."""

_of_thread = threading.local()


@dataclass(frozen=True, slots=True)
class Term:
    postings: Postings
    weight: float
    upper_bound: float
    """The most it adds to any document; more than 0."""
    score: Score

    def scores(self, places: Places, documents: Places) -> Numbers:
        """What it adds to some of its documents."""
        return self.score(documents, self.postings.frequencies[places].astype(np.float64), self.weight)


def top_sums(
    terms: Sequence[Term], size: int, mask: Mask | None, k: int, tolerance: float = 0.0
) -> tuple[Places, Numbers]:
    """At least the `k` best documents of a segment of `size`, with all that are equal to the last of them or less by no
    more than `tolerance`, and their sums, which are then right to much less than that."""
    if mask is not None:
        terms = [Term(term.postings.only(mask), term.weight, term.upper_bound, term.score) for term in terms]
    terms = [term for term in terms if term.postings.documents.size]
    if not terms:
        return np.empty(0, np.intp), np.empty(0, np.float64)
    sizes = [term.postings.documents.size for term in terms]
    try:
        if len(terms) > 1 and max(sizes) >= MIN_POSTINGS_TO_SKIP:
            documents, sums = _maxscore(terms, size, k, tolerance)
            return documents, sums if tolerance else _sums_in_order(terms, documents)
        return _score_all(terms, sizes, size, k, tolerance)
    except BaseException:
        _of_thread.zeros = None  # they may not all be zeros any more
        raise


def _score_all(
    terms: Sequence[Term], sizes: Sequence[int], size: int, k: int, tolerance: float
) -> tuple[Places, Numbers]:
    documents = np.concatenate([term.postings.documents for term in terms]).astype(np.intp)
    scores = _scores_of_all(terms, sizes, documents)
    if len(terms) == 1:
        return documents, scores
    sums = _zeros(size)
    long_enough: list[tuple[int, int]] = []
    start = 0
    for length in sizes:
        of_term = slice(start, start + length)
        sums[documents[of_term]] += scores[of_term]
        if length >= k:
            long_enough.append((length, start))
        start += length
    found = sums[documents]
    sums[documents] = 0.0
    if long_enough:  # the k-th best of the documents of one term is no better than the k-th best of all
        length, start = min(long_enough)
        (leading,) = (found >= kth_largest(found[start : start + length], k) - tolerance).nonzero()
        documents, found = documents[leading], found[leading]
    once = _once_each(documents, sums)
    return documents[once], found[once]


def _once_each(documents: Places, scratch: Numbers) -> Mask:
    """Which of the documents are the last of their equals; `scratch` is left as it was found."""
    numbers = np.arange(documents.size, dtype=np.float64)
    scratch[documents] = numbers
    once = scratch[documents] == numbers
    scratch[documents] = 0.0
    return once


def _scores_of_all(terms: Sequence[Term], sizes: Sequence[int], documents: Places) -> Numbers:
    """Term after term, as many at once as are scored alike."""
    frequencies = np.concatenate([term.postings.frequencies for term in terms]).astype(np.float64)
    weights = np.array([term.weight for term in terms]).repeat(sizes)
    scores = np.empty(documents.size)
    start = stop = 0
    for number, (term, length) in enumerate(zip(terms, sizes, strict=True), start=1):
        stop += length
        if number == len(terms) or terms[number].score is not term.score:
            scores[start:stop] = term.score(documents[start:stop], frequencies[start:stop], weights[start:stop])
            start = stop
    return scores


def _maxscore(terms: Sequence[Term], size: int, k: int, tolerance: float) -> tuple[Places, Numbers]:
    """The best, and some more, with their sums but for the last bits."""
    sums = _zeros(size)
    touched: list[Places] = []
    candidates = _add_strongest_first(terms, sums, touched, k, tolerance)
    found = sums[candidates]
    for documents in touched:
        sums[documents] = 0.0
    (leading,) = (found >= _threshold(found, k, tolerance)).nonzero()
    return candidates[leading], found[leading]


def _add_strongest_first(
    terms: Sequence[Term], sums: Numbers, touched: list[Places], k: int, tolerance: float
) -> Places:
    """Returns the documents that may be among the best."""
    strongest_first = sorted(terms, key=lambda term: -term.upper_bound)
    # What the terms from each on can still add. Summed up from the weakest, so that in the end it is nothing: by
    # subtraction something would be left that is more than the whole sum of words that nearly all documents have.
    bounds = [*accumulate((term.upper_bound for term in reversed(strongest_first)), initial=0.0)][::-1]
    threshold = 0.0
    candidates: Places | None = None  # None while any document can still come among the best
    for term, bound, bound_after in zip(strongest_first, bounds, bounds[1:], strict=False):
        if candidates is None and touched and term.postings.documents.size >= MIN_POSTINGS_TO_SKIP:
            reached = np.concatenate(touched)
            found = sums[reached]
            threshold = _threshold(found[found >= threshold], k, tolerance) if reached.size >= k else 0.0
            if bound < threshold:
                candidates = reached[found >= threshold - bound]
        if candidates is None:
            _add_to_all(term, sums, touched)
        else:
            _add_to_candidates(term, candidates, sums)
            found = sums[candidates]
            threshold = _threshold(found, k, tolerance)
            candidates = candidates[found >= threshold - bound_after]
    return np.concatenate(touched) if candidates is None else candidates


def _threshold(sums: Numbers, k: int, tolerance: float) -> float:
    return kth_largest(sums, k) * (1.0 - SLACK) - tolerance


def _add_to_all(term: Term, sums: Numbers, touched: list[Places]) -> None:
    documents = term.postings.documents.astype(np.intp)
    so_far = sums[documents]
    touched.append(documents[so_far == 0.0])
    sums[documents] = so_far + term.scores(np.arange(documents.size), documents)


def _add_to_candidates(term: Term, candidates: Places, sums: Numbers) -> None:
    in_order = term.postings.documents
    if candidates.size * LOOKUP_COST < in_order.size:
        there, places = positions_in(in_order, candidates)
        documents = candidates[there]
    else:
        is_candidate = np.zeros(sums.size, np.bool_)
        is_candidate[candidates] = True
        (places,) = is_candidate[in_order].nonzero()
        documents = in_order[places].astype(np.intp)
    sums[documents] += term.scores(places, documents)


def _sums_in_order(terms: Sequence[Term], documents: Places) -> Numbers:
    """The sums of a few documents, to the last bit as they are in the order of the terms."""
    sums = np.zeros(documents.size, np.float64)
    for term in terms:
        there, places = positions_in(term.postings.documents, documents)
        sums[there] += term.scores(places, documents[there])
    return sums


def _zeros(size: int) -> Numbers:
    """Kept by each thread, for making as many zeros anew takes longer than most sums; left as they were found."""
    zeros: Numbers | None = getattr(_of_thread, "zeros", None)
    if zeros is None or zeros.size < size:
        zeros = _of_thread.zeros = np.zeros(size, np.float64)
    return zeros
