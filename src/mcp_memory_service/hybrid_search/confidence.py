"""How sure a search can be that what it found answers the query, by what its best hits show anyway.

The best of nothing is a hit as well. One that is near in meaning, leaves the others behind and has the words of the
query is an answer far more often: docs/evaluation.md says how often, and how the numbers were fitted.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..models import Confidence
from .columns.candidates import Scores

# The logarithm of the odds that a query has an answer, if half of all had one: a sum of what the best hits show, each
# times its number. Fitted by tests/eval/fit_confidence.py, with meaning and words, and with either of them alone.
SIMILARITY, LEAD, COVERAGE, START = 3.1, 3.8, 2.6, -3.4
SIMILARITY_ALONE, LEAD_ALONE, START_ALONE = 5.4, 4.3, -3.5
COVERAGE_ALONE, START_OF_WORDS = 3.8, -1.9

MIN_LOW, MIN_HIGH = 0.2, 0.7
"""From these probabilities on an answer is `low`, and `high`."""

# What the best hit leads: the fifth, for four memories may well say the same. Of the sets that were tried the gap to
# the second tells less, and that to the tenth no more.
LED = 4

# A few vectors say little of chance: with ten of no similarity among them, the only memory of a store is not its own
# baseline, and that of a hundred is nearly what it is.
UNRELATED_VECTORS = 10

_RISING: tuple[Confidence, ...] = ("none", "low", "high")


@dataclass(frozen=True, slots=True)
class VectorStanding:
    """What the best vector hit shows; both on the scale from what chance gives (0) to the same text (1)."""

    similarity: float
    lead: float
    """How far it is above the fifth; above the last if there are fewer, which then says less."""


def vector_standing(scores: Sequence[float] | Scores, chance: float = 0.0, sampled: int = 0) -> VectorStanding | None:
    """From similarities, best first, and their mean over so many vectors of the corpus; None if there are none."""
    column = np.asarray(scores, np.float64)
    if not column.size:
        return None
    expected = min(0.99, chance * sampled / (sampled + UNRELATED_VECTORS))
    best, led = float(column[0]), min(LED, column.size - 1)
    lead = (best - float(column[led])) * led / LED
    return VectorStanding((best - expected) / (1.0 - expected), lead / (1.0 - expected))


def word_coverage(query_words: Sequence[str], text_words: Collection[str], idf: Mapping[str, float]) -> float | None:
    """The share of the query's words that a text has; None for a query without any. A word counts one and its idf: by
    idf alone, the words that every memory of a small store has would be nothing at all."""
    if not query_words:
        return None
    weights = {word: 1.0 + idf.get(word, 0.0) for word in query_words}
    return sum([weights[word] for word in weights if word in text_words]) / sum(weights.values())


def certainty(vector: VectorStanding | None, coverage: float | None) -> float | None:
    """The probability of an answer, if half of all queries had one; None if there is nothing to tell it by. `coverage`
    is that of the best keyword hit."""
    if vector is None and coverage is None:
        return None
    if vector is None:
        odds = START_OF_WORDS + COVERAGE_ALONE * (coverage or 0.0)
    elif coverage is None:
        odds = START_ALONE + SIMILARITY_ALONE * vector.similarity + LEAD_ALONE * vector.lead
    else:
        odds = START + SIMILARITY * vector.similarity + LEAD * vector.lead + COVERAGE * coverage
    return 1.0 / (1.0 + math.exp(-odds))


def confidence_of(certainty: float | None) -> Confidence:
    """In one word; what nobody can tell is neither sure nor hopeless."""
    if certainty is None:
        return "low"
    return "high" if certainty >= MIN_HIGH else "low" if certainty >= MIN_LOW else "none"


def is_at_least(confidence: Confidence, least: Confidence | None) -> bool:
    return least is None or _RISING.index(confidence) >= _RISING.index(least)
