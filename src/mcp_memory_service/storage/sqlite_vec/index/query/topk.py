"""Where a list of scores is cut, and where values are in a sorted list."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.float64, np.int64)

MANY_EQUAL = 0.05
"""So large a share of equal values slows `np.partition` down: with half of them equal, a hundredfold."""


def found_in(in_order: NDArray[Any], sought: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of the values sought are in a sorted list without equals, and where in it those are."""
    if not in_order.size:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    # Of one type, or numpy would widen the whole list for a few values.
    sought = sought.astype(in_order.dtype, copy=False)
    places = np.minimum(np.searchsorted(in_order, sought), in_order.size - 1)
    there = np.flatnonzero(in_order[places] == sought)
    return there, places[there]


def last_of_best(values: NDArray[Number], limit: int) -> Number:
    """The value of the last of the greatest `limit`, or the least of all if there are no more than that.

    Tags give the same score to thousands: such values are put aside from below before the others are divided.
    """
    while values.size > limit:
        least = values.min()
        above = values[values > least]
        if above.size < limit:
            return least
        if values.size - above.size < MANY_EQUAL * values.size:
            place = values.size - limit
            return np.partition(values, place)[place]
        values = above
    return values.min()
