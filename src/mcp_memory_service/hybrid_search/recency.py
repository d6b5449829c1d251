"""Age turned into a multiplier, so that of two equally good answers the newer one comes first, or the one of the time
that the query names."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..timestamps import MICROSECONDS_PER_DAY
from .columns.candidates import Scores
from .columns.fused import Fused, FusedCandidate
from .text.query_dates import TimeHint

LEADING_SHARE = 0.5
"""Who scores less than so much of the best is hardly about the same. A share of 0.7 gives the same within .003 on 51
queries for the original state (docs/adr/0021)."""

TIERS = ((7, 1.2), (30, 1.1))
"""Factors by age in days, newest first; what is older than all of them keeps its score."""


def recency_factor(created_at: int, now: int, decay: float, floor: float = 0.0) -> float:
    """`floor + (1 - floor) · e^(-decay · days)`; a moment in the future counts as now."""
    return float(_recency_factors(np.array([created_at]), now, decay, floor)[0])


def apply_recency_decay(fused: Sequence[FusedCandidate], decay: float, now: int, floor: float = 0.0) -> Fused:
    """Multiply every fused score by its recency factor and sort again; a decay of 0 changes nothing."""
    columns = Fused.of(fused)
    if decay == 0:
        return columns
    return _multiplied(columns, _recency_factors(columns.pool.created_at, now, decay, floor))


def tiered_recency_factor(created_at: int, now: int) -> float:
    """1.2 up to 7 days, 1.1 up to 30, 1 from then on; a moment in the future counts as now."""
    return float(_tiered_factors(np.array([created_at]), now)[0])


def apply_recency_tiers(fused: Sequence[FusedCandidate], now: int) -> Fused:
    """Multiply every fused score by the factor of its tier and sort again."""
    columns = Fused.of(fused)
    return _multiplied(columns, _tiered_factors(columns.pool.created_at, now))


def apply_time_hint(fused: Sequence[FusedCandidate], hint: TimeHint, now: int, floor: float) -> Fused:
    """In place of recency: multiply every fused score by `floor + (1 - floor) · e^(-distance / fade)`, by how far its
    memory was created from the time that the query names, and sort again."""
    columns = Fused.of(fused)
    created_at = columns.pool.created_at
    start, end = hint.start, hint.end
    if hint.wanted == "newest":
        start = now
    elif hint.wanted == "oldest" and len(columns):
        end = _oldest_of_leading(columns)
    distance = np.zeros(created_at.size)
    if start is not None:
        distance = np.maximum(distance, start - created_at)
    if end is not None:
        distance = np.maximum(distance, created_at - end)
    return _multiplied(columns, floor + (1.0 - floor) * np.exp(-distance / MICROSECONDS_PER_DAY / hint.fade_days))


def _oldest_of_leading(columns: Fused) -> int:
    """When the oldest was created of those that score at least half of the best: of what the query is about."""
    scores = columns.pool.scores[columns.members]
    leading = columns.members[scores >= LEADING_SHARE * scores.max()]
    return int(columns.pool.created_at[leading].min())


def _multiplied(columns: Fused, factors: Scores) -> Fused:
    return Fused(columns.pool.with_scores(columns.pool.scores * factors), columns.members, columns.votes_at, factors)


def _recency_factors(created_at: NDArray[np.int64], now: int, decay: float, floor: float) -> Scores:
    days = np.maximum(0, now - created_at) / MICROSECONDS_PER_DAY
    return floor + (1.0 - floor) * np.exp(-decay * days)


def _tiered_factors(created_at: NDArray[np.int64], now: int) -> Scores:
    age = now - created_at
    return np.select([age <= days * MICROSECONDS_PER_DAY for days, _ in TIERS], [factor for _, factor in TIERS], 1.0)
