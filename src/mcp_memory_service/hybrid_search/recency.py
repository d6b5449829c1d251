"""Age turned into a multiplier, so that of two equally good answers the newer one comes first."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..timestamps import MICROSECONDS_PER_DAY
from .columns.candidates import Scores
from .columns.fused import Fused, FusedCandidate


def recency_factor(created_at: int, now: int, decay: float, floor: float = 0.0) -> float:
    """`floor + (1 - floor) · e^(-decay · days)`; a moment in the future counts as now."""
    return float(_recency_factors(np.array([created_at]), now, decay, floor)[0])


def apply_recency_decay(fused: Sequence[FusedCandidate], decay: float, now: int, floor: float = 0.0) -> Fused:
    """Multiply every fused score by its recency factor and sort again; a decay of 0 changes nothing."""
    columns = Fused.of(fused)
    if decay == 0:
        return columns
    factors = _recency_factors(columns.pool.created_at, now, decay, floor)
    return Fused(columns.pool.with_scores(columns.pool.scores * factors), columns.members, columns.votes_at, factors)


def _recency_factors(created_at: NDArray[np.int64], now: int, decay: float, floor: float) -> Scores:
    days = np.maximum(0, now - created_at) / MICROSECONDS_PER_DAY
    return floor + (1.0 - floor) * np.exp(-decay * days)
