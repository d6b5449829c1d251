"""The signals as a table. A new signal is one entry here, and one in the table of how signals are asked.

Neighbours and links are no entries: they vote for nobody by themselves, but add to the score of a memory a part of
that of another (`sessions.py`, `graph.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..models import SearchMode
from .columns.candidates import Places, Scores, mean_and_deviation
from .policy import RankingPolicy
from .tag_weights import rank_column

VECTOR, TAG, KEYWORD, NEIGHBOUR, GRAPH = "vector", "tag", "keyword", "neighbour", "graph"

# One to three are within 0.006 NDCG@10 of each other on every set (docs/adr/0008).
BASELINE_DEVIATIONS = 2.0


def above_baseline(scores: Sequence[float] | Scores) -> Scores:
    """Scores stretched so that the greatest is 1, and 0 is two standard deviations below their mean or the least of
    them, whichever is lower: similarities have no natural zero, and the second of two is not worth nothing."""
    column = np.asarray(scores, np.float64)
    if not column.size:
        return column
    greatest = np.maximum.reduce(column)
    mean, deviation = mean_and_deviation(column)
    floor = min(np.minimum.reduce(column), mean - BASELINE_DEVIATIONS * deviation)
    return (column - floor) / (greatest - floor) if greatest > floor else np.ones(column.size)


def share_of_best(scores: Sequence[float] | Scores) -> Scores:
    """Scores as a share of the greatest; what is not listed would be 0, as a text without the words is."""
    column = np.asarray(scores, np.float64)
    greatest = np.maximum.reduce(column, initial=0.0)
    return column / greatest if greatest > 0.0 else np.ones(column.size)


def at_most_one(scores: Scores) -> Scores:
    """Tag scores are shares already (how rare the matched tags are): a tag that half of the memories carry is hardly a
    reason, however few were found."""
    return np.minimum(1.0, scores)


@dataclass(frozen=True, slots=True)
class Signal:
    name: str
    normalised: Callable[[Scores], Scores]
    """From its own scores to 0 … 1, for the fusion of scores."""
    weight: Callable[[float, RankingPolicy], float]
    """From alpha to its weight."""
    shares_ranks: bool
    """Whether equal scores say nothing about each other: they share a rank, and other signals decide."""

    def ranks(self, scores: Scores) -> Places:
        """Of its list, from 1."""
        return rank_column(scores) if self.shares_ranks else np.arange(1, len(scores) + 1)


SIGNALS: Mapping[str, Signal] = {
    signal.name: signal
    for signal in (
        Signal(VECTOR, above_baseline, lambda alpha, _: alpha, shares_ranks=False),
        Signal(KEYWORD, share_of_best, lambda alpha, policy: (1.0 - alpha) * policy.keyword_weight, shares_ranks=True),
        Signal(TAG, at_most_one, lambda alpha, policy: (1.0 - alpha) * policy.tag_weight, shares_ranks=True),
    )
}


def signal_of(name: str) -> Signal:
    """Lists of other names can be fused too, such as those of a caller; they count as a share of their best."""
    return SIGNALS.get(name) or Signal(name, share_of_best, lambda alpha, _: 1.0 - alpha, shares_ranks=False)


def chosen_signals(mode: SearchMode, alpha: float | None) -> frozenset[str]:
    """The signals that a search asks; a mode of one signal, and each end of alpha, is one signal alone. None is an
    alpha that is chosen later."""
    if mode == "keyword":
        return frozenset({KEYWORD})
    if alpha == 1.0:
        return frozenset({VECTOR})
    return frozenset({TAG} if alpha == 0.0 else SIGNALS)


def signal_weights(mode: SearchMode, alpha: float, policy: RankingPolicy) -> dict[str, float]:
    """One that stands alone counts in full."""
    names = chosen_signals(mode, alpha)
    if len(names) == 1:
        return dict.fromkeys(names, 1.0)
    return {name: SIGNALS[name].weight(alpha, policy) for name in SIGNALS}


def stands_alone(weights: Mapping[str, float]) -> bool:
    return list(map((0.0).__lt__, weights.values())).count(True) == 1  # asked six times by every search


def neighbour_share(weights: Mapping[str, float], policy: RankingPolicy) -> float:
    """What neighbours give each other: nothing among ranks, whose sums are too flat to share, nor for one signal
    alone."""
    return policy.neighbour_weight if policy.fusion == "score" and not stands_alone(weights) else 0.0


def links_count(weights: Mapping[str, float], policy: RankingPolicy) -> bool:
    """Likewise, but for the form that sets a share of a leader's sum, which suits ranks too."""
    suits = policy.fusion == "score" or policy.graph_form == "decay"
    return suits and policy.graph_weight > 0 and not stands_alone(weights)
