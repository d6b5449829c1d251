"""How many of the ten nearest a system finds, against the exact answer."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from feed import DIMENSION, Feed

TOP = 10
BLOCK_ROWS = 50_000
# Two texts may have the same vector, and sums in another order differ in the last digits: as near is found as well.
TOLERANCE = 1e-5


def exact_tenth(feed: Feed, queries: int) -> NDArray[np.float32]:
    """For each of the first queries the similarity of its tenth nearest text."""
    asked = _asked(feed, queries)
    best = np.full((len(asked), TOP), -2.0, np.float32)
    corpus = _corpus(feed)
    for start in range(0, len(corpus), BLOCK_ROWS):
        similarities = asked @ np.asarray(corpus[start : start + BLOCK_ROWS]).T
        both = np.concatenate([best, similarities], axis=1)
        best = -np.partition(-both, TOP - 1, axis=1)[:, :TOP]
    return best.min(axis=1)


def recall_at_10(feed: Feed, tenth: NDArray[np.float32], found: Sequence[Sequence[int]]) -> float:
    """The share of the ten nearest that are among the found, over the queries that were asked."""
    asked = _asked(feed, len(found))
    corpus = _corpus(feed)
    nearest = min(TOP, feed.size)
    hits = 0
    for query, numbers, least in zip(asked, found, tenth, strict=False):
        similarities = np.asarray(corpus[list(numbers)[:TOP]]) @ query
        hits += min(nearest, int((similarities >= least - TOLERANCE).sum()))
    return hits / (nearest * len(found))


def _asked(feed: Feed, queries: int) -> NDArray[np.float32]:
    return np.fromfile(feed.folder / "queries.f32", np.float32, queries * DIMENSION).reshape(-1, DIMENSION)


def _corpus(feed: Feed) -> NDArray[np.float32]:
    return np.memmap(feed.vectors, np.float32, mode="r").reshape(-1, DIMENSION)
