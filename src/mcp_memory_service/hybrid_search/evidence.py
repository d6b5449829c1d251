"""How far each signal can be trusted for one query, and the alpha that follows from it.

Nobody has to know which signal is the better one on a corpus: a vector hit that stands out from the baseline, and a
keyword hit that has the rare words of the query, say so themselves. See docs/adr/0008 for the data.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# ln(alpha / (1 - alpha)) = PRIOR_SHARE · ln(prior / (1 - prior)) + START + PROMINENCE · ln(prominence) / √rarity
#                           - COVERAGE · found - LEAD · lead + WEAKNESS · ln(SAYING / (rarity · found))
# where found is coverage / known, and the last counts only where it is above 0. Fitted to the evaluation sets by
# tests/eval/fit_alpha.py and rounded: all within 0.1 of these are within .001 in the mean (docs/adr/0022). The prior by
# the size of the corpus counts half: as a whole it loses .002 on sets that were left out, and not at all .002.
PRIOR_SHARE = 0.5
START = 1.0
PROMINENCE = 1.2
COVERAGE = 1.0
LEAD = 1.0
WEAKNESS = 1.0
SAYING = 0.67
"""Words that say less than this are as good as found by chance: what is meant is said in other words."""

# No signal is ever silenced: what only the weaker one finds stays in the answer, in its own order.
MIN_ALPHA, MAX_ALPHA = 0.05, 0.95

# How much of alpha a named tag takes that only one memory carries: at 0.6 such a memory comes before one that leads by
# vector alone (0.4 for the tag and 0.4 for the word against 0.6). On our own corpus, NDCG@10: .731 without a limit,
# .739 with 0.3, .742 with 0.4, .733 with 0.5 (docs/adr/0008).
TAG_SHARE = 0.4

LED = 10
"""What the best keyword hit leads: the tenth, all that are equal to the best counting as one."""

# Bounds that keep the odds finite where there is next to nothing to go by.
_MIN_PROMINENCE, _MAX_PROMINENCE = 1.0, 20.0  # less than chance says no more than chance
_MIN_RARITY, _MAX_RARITY = 0.2, 5.0
_MIN_SAYING = 0.05
_MIN_EXPECTATION = 0.5
_EULER_GAMMA = 0.5772156649


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """What the best keyword hit has of the query, and of the others."""

    rarity: float
    """How improbable its words are together, in units of what chance alone would find among so many memories."""
    coverage: float
    """The share of the query's words that it has, rare words counting more."""
    known: float
    """The share of them that any memory has: what no memory has, it cannot have either."""
    lead: float
    """How far it is above the tenth, as a share of its score: 1 if there are fewer. Its equals count as one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the signals show of their own strength for one query."""

    vector_prominence: float
    """How far the best vector hit is above the mean similarity, in units of what the best of as many random texts
    would be: 1 is no better than chance."""
    keyword_rarity: float
    keyword_coverage: float
    keyword_known: float
    keyword_lead: float


def alpha_from_evidence(
    evidence: Evidence, prior: float, vector_trust: float = 1.0, *, names_tag: bool = False
) -> float:
    """The weight of the vector signal: the prior, moved up the further its best hit stands out, and down the more the
    best keyword hit has of the query and leaves the others behind; up again if that is next to nothing.

    `vector_trust` multiplies the odds, for a corpus on which that signal is known to be better or worse than it looks.
    A word that names a tag is not found by chance, however many carry the tag.
    """
    prominence, found, lead, weakness = log_odds_terms(evidence, names_tag=names_tag)
    log_odds = (
        PRIOR_SHARE * math.log(prior / (1.0 - prior))
        + START
        + PROMINENCE * prominence
        - COVERAGE * found
        - LEAD * lead
        + WEAKNESS * weakness
    )
    odds = vector_trust * math.exp(log_odds)
    return min(MAX_ALPHA, max(MIN_ALPHA, odds / (1.0 + odds)))


def log_odds_terms(evidence: Evidence, *, names_tag: bool) -> tuple[float, float, float, float]:
    """What PROMINENCE, COVERAGE, LEAD and WEAKNESS multiply."""
    prominence = min(_MAX_PROMINENCE, max(_MIN_PROMINENCE, evidence.vector_prominence))
    rarity = min(_MAX_RARITY, max(_MIN_RARITY, evidence.keyword_rarity))
    found = evidence.keyword_coverage / evidence.keyword_known if evidence.keyword_known else 0.0
    saying = max(_MIN_SAYING, evidence.keyword_rarity * found)
    weakness = 0.0 if names_tag else max(0.0, math.log(SAYING / saying))
    return math.log(prominence) / math.sqrt(rarity), found, evidence.keyword_lead, weakness


def alpha_of_covered(alpha: float, covered: float) -> float:
    """As long as only this share of the memories has vectors: the few that do would come before all others, whatever
    they are about."""
    return max(MIN_ALPHA, covered * alpha) if covered < 1.0 else alpha


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
    query_words: Collection[str],
    text_words: Collection[str],
    known_words: Collection[str],
    idf: Mapping[str, float],
    memories: int,
    scores: Sequence[float] | NDArray[np.float64],
) -> WordEvidence:
    """What the best keyword hit shows: `text_words` are its own, `known_words` those of the query that any memory has,
    `idf` is that of each word of the query, in natural logarithms, and `scores` are those of the keyword list."""
    present = sum([idf[word] for word in query_words if word in text_words])
    known = sum([idf[word] for word in query_words if word in known_words])
    total = sum([idf[word] for word in query_words])
    lead = _lead(np.asarray(scores, np.float64))
    if total == 0.0:  # all of them are everywhere, as in a store of two or three memories: each counts alike
        share = sum([word in text_words for word in query_words]) / max(1, len(query_words))
        return WordEvidence(0.0, share, float(bool(query_words)), lead)
    return WordEvidence(present / math.log(max(memories, 2)), present / total, known / total, lead)


def _lead(scores: NDArray[np.float64]) -> float:
    if not scores.size:
        return 0.0
    led = int(np.count_nonzero(scores == scores[0])) + LED - 2
    return 1.0 - float(scores[led] / scores[0]) if led < scores.size else 1.0
