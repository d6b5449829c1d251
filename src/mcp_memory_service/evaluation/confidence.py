"""How sure a mean or a difference is: percentile bootstrap over queries, with a fixed seed so that a run can be
repeated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

RESAMPLES = 2_000
SEED = 20_260_101
LEVEL = 0.95


class Interval(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How much better one way of asking is than another, over the same queries."""

    mean: float
    interval_95: Interval

    @property
    def is_noise(self) -> bool:
        """Whether chance alone may have made it: the interval contains 0."""
        return self.interval_95.low <= 0.0 <= self.interval_95.high

    @property
    def verdict(self) -> str:
        if self.is_noise:
            return "noise"
        return "better" if self.mean > 0.0 else "worse"

    def as_json(self) -> dict[str, Any]:
        return {"mean": self.mean, "interval_95": list(self.interval_95), "is_noise": self.is_noise}


def bootstrap_interval(values: Sequence[float]) -> Interval:
    """The interval that holds the means of 95 % of all resamples with replacement."""
    sample = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(SEED)
    # One resample at a time: all at once would take gigabytes for a hundred thousand values.
    means = np.array([sample[random.integers(0, sample.size, sample.size)].mean() for _ in range(RESAMPLES)])
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(low), float(high))


def paired_difference(values: Sequence[float], reference: Sequence[float]) -> PairedDifference:
    """Of values to a reference, query by query: a resample draws both values of a query together."""
    differences = [value - other for value, other in zip(values, reference, strict=True)]
    return PairedDifference(sum(differences) / len(differences), bootstrap_interval(differences))
