"""Scores by whether files still have what was found in them: code that has changed since it was read comes later."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from .columns.fused import Fused


def weigh_first(fused: Fused, factors: Mapping[str, float], first: int) -> Fused:
    """The first so many by `score · factor`, 1 where none is given; the others after them as they were, with no more
    than the least score of those before them."""
    order = fused.order
    leading, others = order[:first], order[first:]
    if not factors or not len(leading):
        return fused
    scores = fused.pool.scores.copy()
    scores[leading] *= [factors.get(each, 1.0) for each in fused.pool.take(leading).content_hashes]
    scores[others] = np.minimum(scores[others], scores[leading].min())
    pool = fused.pool.with_scores(scores)
    return replace(fused, pool=pool, members=np.concatenate([pool.best_first(leading), others]), sorted=True)


def only(fused: Fused, ids: Collection[str]) -> Fused:
    """Those of the ranking, in its order."""
    order = fused.order
    kept = [each in ids for each in fused.pool.take(order).content_hashes]
    return replace(fused, members=order[np.array(kept, np.bool_)], sorted=True)
