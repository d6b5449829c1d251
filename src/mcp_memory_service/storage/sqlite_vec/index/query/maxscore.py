"""Sums of what terms add to documents, for the documents that can be among the best.

A few thousand documents are added up at once. Where a term has very many, terms come strongest first: once so many
documents are ahead that the terms that are left cannot lift another one among them, those terms are only looked up for
documents that are already in the race (MaxScore; Turtle and Flood, 1995). Either way the sums of the best are made in
the order of the terms, to be equal to those of FTS5 to the last bit.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

import numpy as np
from numpy.typing import NDArray

from ..format.postings import Occurrences
from .reader import Mask
from .topk import found_in, last_of_best

WORTH_SKIPPING = 20_000
"""So many documents of a term are added up as fast as it is found out whether they must be."""
LOOKING_UP = 16
"""Looking for one document in a list takes as long as reading so many of the list."""
SLACK = 1e-9
"""More than sums in another order can differ, relative to the sum."""

Places = NDArray[np.intp]
Numbers = NDArray[np.float64]

Rule = Callable[[Places, Numbers, "Numbers | float"], Numbers]
"""What a term of some weight adds to documents that have it so often; works on the documents of several terms at once,
each with the weight of its term."""

_of_thread = threading.local()


@dataclass(frozen=True, slots=True)
class Term:
    found: Occurrences
    weight: float
    bound: float
    """The most it adds to any document; more than 0."""
    rule: Rule

    def shares(self, places: Places, documents: Places) -> Numbers:
        """What it adds to some of its documents."""
        return self.rule(documents, self.found.frequencies[places].astype(np.float64), self.weight)

    def only(self, mask: Mask) -> "Term":
        passing = mask[self.found.documents]
        found = Occurrences(self.found.documents[passing], self.found.frequencies[passing])
        return Term(found, self.weight, self.bound, self.rule)


def best_sums(
    terms: Sequence[Term], size: int, mask: Mask | None, limit: int, blur: float = 0.0
) -> tuple[Places, Numbers]:
    """At least the `limit` best documents of a segment of `size`, with all that are equal to the last of them or less
    by no more than `blur`, and their sums, which are then right to much less than that."""
    terms = [term if mask is None else term.only(mask) for term in terms]
    terms = [term for term in terms if len(term.found)]
    try:
        if len(terms) > 1 and any(len(term.found) >= WORTH_SKIPPING for term in terms):
            documents, sums = _in_the_race(terms, size, limit, blur)
            return documents, sums if blur else _sums_in_order(terms, documents)
        return _added_up(terms, size, limit, blur)
    except BaseException:
        _of_thread.zeros = None  # they may not all be zeros any more
        raise


def _added_up(terms: Sequence[Term], size: int, limit: int, blur: float) -> tuple[Places, Numbers]:
    if not terms:
        return np.empty(0, np.intp), np.empty(0, np.float64)
    documents = np.concatenate([term.found.documents for term in terms]).astype(np.intp)
    shares = _shares_of_all(terms, documents)
    if len(terms) == 1:
        return documents, shares
    sums = _zeros(size)
    for stretch in _stretches(terms):
        sums[documents[stretch]] += shares[stretch]
    found = sums[documents]
    sums[documents] = 0.0
    # What the last of the best of one term reaches, the last of the best of all reaches as well.
    enough = [stretch for stretch in _stretches(terms) if stretch.stop - stretch.start >= limit]
    if enough:
        shortest = min(enough, key=lambda stretch: stretch.stop - stretch.start)
        leading = np.flatnonzero(found >= last_of_best(found[shortest], limit) - blur)
        documents, found = documents[leading], found[leading]
    once = _last_of_each(documents, sums)
    return documents[once], found[once]


def _last_of_each(documents: Places, scratch: Numbers) -> Mask:
    """Every document once; `scratch` is left as it was found."""
    numbers = np.arange(documents.size, dtype=np.float64)
    scratch[documents] = numbers
    once = scratch[documents] == numbers
    scratch[documents] = 0.0
    return once


def _shares_of_all(terms: Sequence[Term], documents: Places) -> Numbers:
    """One after the other, as many terms at once as have the same rule."""
    often = np.concatenate([term.found.frequencies for term in terms]).astype(np.float64)
    weights = np.repeat([term.weight for term in terms], [len(term.found) for term in terms])
    shares: list[Numbers] = []
    start = 0
    for rule, alike in groupby(terms, key=lambda term: term.rule):
        stop = start + sum(len(term.found) for term in alike)
        shares.append(rule(documents[start:stop], often[start:stop], weights[start:stop]))
        start = stop
    return np.concatenate(shares) if len(shares) > 1 else shares[0]


def _stretches(terms: Sequence[Term]) -> Iterator[slice]:
    """Where the documents of each term are, one after the other."""
    start = 0
    for term in terms:
        yield slice(start, start + len(term.found))
        start += len(term.found)


def _in_the_race(terms: Sequence[Term], size: int, limit: int, blur: float) -> tuple[Places, Numbers]:
    """The best, and some more, with their sums but for the last bits."""
    sums = _zeros(size)
    touched: list[Places] = []
    reached = _add_strongest_first(terms, sums, touched, limit, blur)
    found = sums[reached]
    for documents in touched:
        sums[documents] = 0.0
    leading = np.flatnonzero(found >= _least_of_best(found, limit, blur))
    return reached[leading], found[leading]


def _add_strongest_first(
    terms: Sequence[Term], sums: Numbers, touched: list[Places], limit: int, blur: float
) -> Places:
    """Returns the documents that may be among the best."""
    by_strength = sorted(terms, key=lambda term: -term.bound)
    # What the terms from each on can still add. Summed up from the weakest, so that in the end it is nothing: by
    # subtraction something would be left that is more than the whole sum of words that nearly all documents have.
    lefts = [*accumulate((term.bound for term in reversed(by_strength)), initial=0.0)][::-1]
    least = 0.0  # what a document must reach at the least
    racing: Places | None = None  # None while any document can still come among the best
    for term, left, left_after in zip(by_strength, lefts, lefts[1:], strict=False):
        if racing is None and touched and len(term.found) >= WORTH_SKIPPING:
            reached = np.concatenate(touched)
            found = sums[reached]
            least = _least_of_best(found[found >= least], limit, blur) if reached.size >= limit else 0.0
            if left < least:
                racing = reached[found >= least - left]
        if racing is None:
            _add_to_all(term, sums, touched)
        else:
            _add_to_racing(term, racing, sums)
            found = sums[racing]
            least = _least_of_best(found, limit, blur)
            racing = racing[found >= least - left_after]
    return np.concatenate(touched) if racing is None else racing


def _least_of_best(sums: Numbers, limit: int, blur: float) -> float:
    return last_of_best(sums, limit) * (1.0 - SLACK) - blur


def _add_to_all(term: Term, sums: Numbers, touched: list[Places]) -> None:
    documents = term.found.documents.astype(np.intp)
    so_far = sums[documents]
    touched.append(documents[so_far == 0.0])
    sums[documents] = so_far + term.shares(np.arange(documents.size), documents)


def _add_to_racing(term: Term, racing: Places, sums: Numbers) -> None:
    if racing.size * LOOKING_UP < len(term.found):
        there, places = found_in(term.found.documents, racing)
        documents = racing[there]
    else:
        is_racing = np.zeros(sums.size, np.bool_)
        is_racing[racing] = True
        places = np.flatnonzero(is_racing[term.found.documents])
        documents = term.found.documents[places].astype(np.intp)
    sums[documents] += term.shares(places, documents)


def _sums_in_order(terms: Sequence[Term], documents: Places) -> Numbers:
    """The sums of a few documents, to the last bit as they are in the order of the terms."""
    sums = np.zeros(documents.size, np.float64)
    for term in terms:
        there, places = found_in(term.found.documents, documents)
        sums[there] += term.shares(places, documents[there])
    return sums


def _zeros(size: int) -> Numbers:
    """Kept by each thread, for making as many zeros anew takes longer than most sums; left as they were found."""
    zeros: Numbers | None = getattr(_of_thread, "zeros", None)
    if zeros is None or zeros.size < size:
        zeros = _of_thread.zeros = np.zeros(size, np.float64)
    return zeros
