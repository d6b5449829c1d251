"""The top k of scores, and what was found in the segments of an index as one list, best first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .....hybrid_search.columns.candidates import Candidates
from .....hybrid_search.columns.digests import NumberedDigests, ReadDigests
from ..format.segment import NO_SEQUENCE, NONE, Segment

Number = TypeVar("Number", np.float64, np.int64)
Value = TypeVar("Value", np.float64, np.int64, np.int32, np.uint8)

MANY_EQUAL = 0.05
"""So large a share of equal values slows `np.partition` down: with half of them equal, a hundredfold."""


def kth_largest(values: NDArray[Number], k: int) -> Number:
    """The smallest of all if there are no more than `k`.

    Tags give the same score to thousands: such values are put aside from below before the others are divided.
    """
    while values.size > k:
        smallest = np.minimum.reduce(values)
        above = values[values > smallest]
        if above.size < k:
            return smallest
        if values.size - above.size < MANY_EQUAL * values.size:
            place = above.size - k
            above.partition(place)
            return above[place]
        values = above
    return np.minimum.reduce(values)


def positions_in(in_order: NDArray[Any], sought: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of the values sought are in a sorted list without equals, and where in it those are."""
    if not in_order.size:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    # Of one type, or numpy would widen the whole list for a few values.
    sought = sought.astype(in_order.dtype, copy=False)
    places = np.minimum(in_order.searchsorted(sought), in_order.size - 1)
    (there,) = (in_order[places] == sought).nonzero()
    return there, places[there]


NOBODY = Candidates.of(())


@dataclass(frozen=True, slots=True)
class Found:
    """Documents of one segment with their scores."""

    segment: Segment
    documents: NDArray[np.intp]
    scores: NDArray[np.float64]

    def only(self, chosen: NDArray[np.bool_]) -> "Found":
        return Found(self.segment, self.documents[chosen], self.scores[chosen])


def top(found: Sequence[Found], k: int) -> list[Found]:
    """The best `k`, with all that are equal to the last of them."""
    found = [each for each in found if each.documents.size]
    if _size(found) <= k:
        return found
    threshold = kth_largest(joined([each.scores for each in found]), k)
    chosen = (each.only(each.scores >= threshold) for each in found)
    return [each for each in chosen if each.documents.size]


def ranked(found: Sequence[Found], limit: int, digests_of: ReadDigests, *, newest_first: bool = False) -> Candidates:
    """Of equal scores the newer first if asked for, then the smaller content_hash."""
    found = top(found, limit)
    if newest_first:
        found = _newest_of_equals(found, limit)
    if not found:
        return NOBODY
    scores = joined([each.scores for each in found])
    created_at = joined([each.segment.documents.created_at[each.documents] for each in found])
    numbers = joined([each.documents + each.segment.first for each in found])
    candidates = Candidates(NumberedDigests(numbers, digests_of), created_at, scores)
    order = candidates.best_first(np.arange(scores.size), by_age=newest_first)[:limit]
    best = candidates.take(order)
    sessions, sequences = _sessions(found, order)
    return best if sessions is None and sequences is None else replace(best, sessions=sessions, sequences=sequences)


def _size(found: Sequence[Found]) -> int:
    size = 0
    for each in found:
        size += each.scores.size
    return size


def joined(columns: Sequence[NDArray[Value]]) -> NDArray[Value]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _newest_of_equals(found: list[Found], limit: int) -> list[Found]:
    """Of those that are equal to the last: a tag alone may give the same score to half of the store."""
    surplus = _size(found) - limit
    if surplus <= 0:
        return found
    lowest = np.minimum.reduce(joined([each.scores for each in found]))
    dates = joined([each.segment.documents.created_at[each.documents[each.scores == lowest]] for each in found])
    oldest = kth_largest(dates, dates.size - surplus)
    chosen: list[Found] = []
    for each in found:
        newer = each.segment.documents.created_at[each.documents] >= oldest
        chosen.append(each.only((each.scores > lowest) | newer))
    return chosen


def _sessions(
    found: Sequence[Found], order: NDArray[np.intp]
) -> tuple[list[str | None] | None, list[int | None] | None]:
    """The sessions and the sequences of what was found; None if there are none."""
    if not any([each.segment.has_sessions for each in found]):  # noqa: C419 -- there are one or two
        return None, None
    codes = joined([each.segment.documents.sessions[each.documents] for each in found])[order]
    numbers = joined([each.segment.documents.sequences[each.documents] for each in found])[order]
    sequences = None
    if (numbers != NO_SEQUENCE).any():
        sequences = [None if number == NO_SEQUENCE else number for number in cast("list[int]", numbers.tolist())]
    if (codes == NONE).all():
        return None, sequences
    found_by: list[int] = np.repeat(np.arange(len(found)), [each.documents.size for each in found])[order].tolist()
    sessions = [
        None if code == NONE else found[number].segment.session(code)
        for number, code in zip(found_by, cast("list[int]", codes.tolist()), strict=True)
    ]
    return sessions, sequences
