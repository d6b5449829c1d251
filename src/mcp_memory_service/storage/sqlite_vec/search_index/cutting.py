"""Where a list of scores is cut."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.float64, np.int64)

MANY_EQUAL = 0.05
"""So large a share of equal values slows `np.partition` down: with half of them equal, a hundredfold."""


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
