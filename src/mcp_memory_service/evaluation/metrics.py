"""Quality of one ranked list against what is known to be relevant; every name says which variant it is.

The ideal order of NDCG comes from the gold set itself, not from what was retrieved; its gain is the grade as given
(linear). Everything is measured within the first ten results.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

DEPTH = 10
SHALLOW_DEPTH = 5


class Measures(NamedTuple):
    """Each between 0 and 1, more is better."""

    hit_at_1: float
    """1 if the first result is relevant."""
    recall_any_at_5: float
    """1 if any relevant document is among the first five."""
    recall_any_at_10: float
    """The same among the first ten; also called Hit@10."""
    recall_fraction_at_5: float
    """The share of the relevant documents that are among the first five."""
    recall_fraction_at_10: float
    recall_all_at_5: float
    """1 if all relevant documents are among the first five."""
    recall_all_at_10: float
    mrr_at_10: float
    """1 / place of the first relevant result, 0 if none is among the first ten."""
    ndcg_at_10: float


Grades = Mapping[str, float]
"""Relevant documents with their grade, above 0; what is not named is not relevant."""


def measure(ranked: Sequence[str], relevant: Grades) -> Measures:
    """All measures of one answer; a document that is listed twice counts where it comes first."""
    if not relevant:
        raise ValueError("Without a relevant document there is nothing to measure.")
    found = [document in relevant for document in dict.fromkeys(ranked)]
    first = next((place for place, hit in enumerate(found[:DEPTH], start=1) if hit), None)
    shallow, deep = sum(found[:SHALLOW_DEPTH]), sum(found[:DEPTH])
    return Measures(
        hit_at_1=float(first == 1),
        recall_any_at_5=float(shallow > 0),
        recall_any_at_10=float(deep > 0),
        recall_fraction_at_5=shallow / len(relevant),
        recall_fraction_at_10=deep / len(relevant),
        recall_all_at_5=float(shallow == len(relevant)),
        recall_all_at_10=float(deep == len(relevant)),
        mrr_at_10=1.0 / first if first else 0.0,
        ndcg_at_10=ndcg(ranked, relevant, DEPTH),
    )


def ndcg(ranked: Sequence[str], relevant: Grades, depth: int) -> float:
    """Discounted gain of the first `depth` results, as a share of the best that the gold set allows."""
    gains = [relevant.get(document, 0.0) for document in dict.fromkeys(ranked)]
    ideal = sorted(relevant.values(), reverse=True)
    return _discounted(gains[:depth]) / _discounted(ideal[:depth])


def mean_measures(measures: Sequence[Measures]) -> Measures:
    """Each measure averaged over the queries, every query counting alike."""
    if not measures:
        raise ValueError("There is no query to average over.")
    return Measures(*(sum(column) / len(measures) for column in zip(*measures, strict=True)))


def separation(of_answerable: Sequence[float], of_unanswerable: Sequence[float]) -> float:
    """How well a score tells queries with an answer from those without: the probability that one of the former scores
    higher than one of the latter (the area under the ROC curve); 0.5 is chance."""
    pairs = [(yes > no) + 0.5 * (yes == no) for yes in of_answerable for no in of_unanswerable]
    return sum(pairs) / len(pairs)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))
