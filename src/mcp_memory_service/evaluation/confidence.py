"""How sure a mean is: percentile bootstrap over queries, with a fixed seed so that a run can be repeated."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 2_000
SEED = 20_260_101


class Interval(NamedTuple):
    low: float
    high: float


def bootstrap_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The interval that holds the mean of `level` of all resamples with replacement."""
    sample = np.asarray(values, dtype=np.float64)
    return _percentiles(_resampled_means(sample), level)


def bootstrap_difference(after: Sequence[float], before: Sequence[float], level: float = 0.95) -> Interval:
    """The same for the mean difference of paired values: one that lies above 0 is a gain beyond chance."""
    paired = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    return _percentiles(_resampled_means(paired), level)


def _resampled_means(sample: np.ndarray) -> np.ndarray:
    random = np.random.default_rng(SEED)
    # One resample at a time: all at once would take gigabytes for a hundred thousand values.
    return np.array([sample[random.integers(0, sample.size, sample.size)].mean() for _ in range(RESAMPLES)])


def _percentiles(means: np.ndarray, level: float) -> Interval:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(low), float(high))
