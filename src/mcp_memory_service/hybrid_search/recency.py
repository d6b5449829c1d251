"""Age turned into a multiplier, so that of two equally good answers the newer one comes first."""

import math
from collections.abc import Sequence

from ..timestamps import MICROSECONDS_PER_DAY
from .fusion import FusedCandidate, best_first


def recency_factor(created_at: int, now: int, decay: float, floor: float = 0.0) -> float:
    """`floor + (1 - floor) · e^(-decay · days)`; a moment in the future counts as now."""
    days = max(0, now - created_at) / MICROSECONDS_PER_DAY
    return floor + (1.0 - floor) * math.exp(-decay * days)


def apply_recency_decay(
    fused: Sequence[FusedCandidate], decay: float, now: int, floor: float = 0.0
) -> list[FusedCandidate]:
    """Multiply every fused score by its recency factor and sort again; a decay of 0 changes nothing."""
    if decay == 0:
        return list(fused)
    aged: list[FusedCandidate] = []
    for content_hash, created_at, score, votes, _ in fused:
        factor = recency_factor(created_at, now, decay, floor)
        aged.append(FusedCandidate(content_hash, created_at, score * factor, votes, factor))
    return sorted(aged, key=best_first)
