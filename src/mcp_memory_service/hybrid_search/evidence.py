"""How far each signal can be trusted for one query, and the alpha that follows from it.

Nobody has to know which signal is the better one on a corpus: a vector hit that stands out from the baseline, and a
keyword hit that has the rare words of the query, say so themselves. See docs/adr/0008 for the data.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

# odds = alpha / (1 - alpha) = prominence^3 / (rarity · coverage)^1.5. The powers were chosen on eleven different sets
# for the least loss against the better single signal; with 2 to 4 for the first and 1 to 2 for the other no set
# moves by more than 0.01 NDCG@10 (docs/adr/0008).
PROMINENCE_POWER = 3.0
WORDS_POWER = 1.5

# No signal is ever silenced: what only the weaker one finds stays in the answer, in its own order.
MIN_ALPHA, MAX_ALPHA = 0.05, 0.95

# How much of alpha a named tag takes that only one memory carries: at 0.6 such a memory comes before one that leads by
# vector alone (0.4 for the tag and 0.4 for the word against 0.6). On our own corpus, NDCG@10: .731 without a limit,
# .739 with 0.3, .742 with 0.4, .733 with 0.5 (docs/adr/0008).
TAG_SHARE = 0.4

# Bounds that keep the odds finite where there is next to nothing to go by.
_MIN_PROMINENCE, _MAX_PROMINENCE = 0.2, 20.0
_MIN_RARITY = 0.1
_MIN_COVERAGE = 0.02
_MIN_EXPECTATION = 0.5
_EULER_GAMMA = 0.5772156649


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """What the best keyword hit has of the query."""

    rarity: float
    """How improbable its words are together, in units of what chance alone would find among so many memories."""
    coverage: float
    """The share of the query's words that it has, rare words counting more."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the signals show of their own strength for one query."""

    vector_prominence: float
    """How far the best vector hit is above the mean similarity, in units of what the best of as many random texts
    would be: 1 is no better than chance."""
    keyword_rarity: float
    keyword_coverage: float


def alpha_from_evidence(evidence: Evidence, vector_trust: float = 1.0) -> float:
    """The weight of the vector signal: more, the further its best hit stands out and the less the words say.

    `vector_trust` multiplies the odds, for a corpus on which that signal is known to be better or worse than it looks.
    """
    prominence = min(_MAX_PROMINENCE, max(_MIN_PROMINENCE, evidence.vector_prominence))
    words = max(_MIN_RARITY, evidence.keyword_rarity) * max(_MIN_COVERAGE, evidence.keyword_coverage)
    odds = vector_trust * prominence**PROMINENCE_POWER / words**WORDS_POWER
    return min(MAX_ALPHA, max(MIN_ALPHA, odds / (1.0 + odds)))


def limit_alpha_for_named_tags(alpha: float, rarity: float) -> float:
    """A query that names a tag is about what carries it, the more so the rarer the tag (0 = none, 1 = one memory)."""
    return min(alpha, 1.0 - TAG_SHARE * min(1.0, rarity))


def vector_prominence(best: float, mean: float, deviation: float, vectors: int) -> float:
    """How far the best similarity stands out: its deviations above the mean, per those of the best of random draws."""
    if deviation <= 0.0:
        return 1.0
    return (best - mean) / deviation / max(_MIN_EXPECTATION, expected_greatest(vectors))


def expected_greatest(draws: int) -> float:
    """The expected greatest of so many standard normal draws (asymptotic; 0.55 for two, 3.1 for 600, 3.8 for 6,000)."""
    if draws < 2:
        return 0.0
    scale = math.sqrt(2.0 * math.log(draws))
    shift = (math.log(math.log(max(draws, 3))) + math.log(4.0 * math.pi)) / (2.0 * scale)
    return scale - shift + _EULER_GAMMA / scale


def word_evidence(
    query_words: Sequence[str], text_words: Collection[str], idf: Mapping[str, float], memories: int
) -> WordEvidence:
    """What a text has of the query; `idf` of each word of the query, in natural logarithms."""
    present = [word for word in query_words if word in text_words]
    matched, total = sum(map(idf.__getitem__, present)), sum(map(idf.__getitem__, query_words))
    if total == 0.0:  # all of them are everywhere, as in a store of two or three memories: each counts alike
        return WordEvidence(0.0, len(present) / len(query_words) if query_words else 0.0)
    return WordEvidence(matched / math.log(max(memories, 2)), matched / total)
