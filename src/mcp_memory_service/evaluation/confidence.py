"""How sure a mean is: percentile bootstrap over queries, with a fixed seed so that a run can be repeated."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 2_000
SEED = 20_260_101
LEVEL = 0.95


class Interval(NamedTuple):
    low: float
    high: float


def bootstrap_interval(values: Sequence[float]) -> Interval:
    """The interval that holds the means of 95 % of all resamples with replacement."""
    sample = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(SEED)
    # One resample at a time: all at once would take gigabytes for a hundred thousand values.
    means = np.array([sample[random.integers(0, sample.size, sample.size)].mean() for _ in range(RESAMPLES)])
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(low), float(high))


def bootstrap_difference(after: Sequence[float], before: Sequence[float]) -> Interval:
    """The same for the mean difference of paired values: one that lies above 0 is a gain beyond chance."""
    return bootstrap_interval([new - old for new, old in zip(after, before, strict=True)])
