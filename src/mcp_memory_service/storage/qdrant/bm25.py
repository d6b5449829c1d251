"""BM25 with the constants and the arithmetic of SQLite's FTS5, so that both stores rank words alike."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

K1 = 1.2
B = 0.75

# The length that stored weights are made for; the order among what they find is computed anew with the true average.
# LoCoMo turns have 35 words, notes of our own corpus 38, CoSQA functions 47, Debian's package descriptions 76.
REFERENCE_LENGTH = 64.0
# The further the true average is from that, the more candidates are fetched. With so many, the first 250 and the first
# 20 are those of FTS5 for all of 60 queries on each of six sets, of 35 to 1,736 words a text (bench/stores_agree.py).
BREADTH_PER_RATIO = 0.6
MAX_BREADTH = 6.0

# What FTS5 gives a word that more than half of the memories have.
MIN_IDF = 1e-6


@dataclass(frozen=True, slots=True)
class Corpus:
    """How much text there is."""

    memories: int
    words: int

    @property
    def average_length(self) -> float:
        return self.words / self.memories if self.words else 1.0


def log_odds(memories: int, having: int) -> float:
    """The inverse document frequency of BM25, which is negative for what more than half of the memories have."""
    return math.log(_odds(memories, having))


def rarity(memories: int, having: int) -> float:
    """The same as FTS5 uses it, never 0."""
    found = log_odds(memories, having)
    return found if found > 0 else MIN_IDF


def server_rarity(memories: int, having: int) -> float:
    """What Qdrant multiplies the weight of a word by (its modifier `idf`): the same, kept above 0 in another way."""
    return math.log1p(_odds(memories, having))


def _odds(memories: int, having: int) -> float:
    """The memories may have been counted before the last of those that have the word were written."""
    return (max(memories, having) - having + 0.5) / (having + 0.5)


def term_weight(count: int, length: int, average_length: float) -> float:
    """How much a word says of a text in which it stands `count` times."""
    return (count * (K1 + 1.0)) / (count + K1 * (1 - B + B * length / average_length))


def search_breadth(average_length: float) -> float:
    """How many times as many candidates as wanted are to be scored."""
    ratio = average_length / REFERENCE_LENGTH
    return min(MAX_BREADTH, 1.0 + BREADTH_PER_RATIO * max(ratio, 1.0 / ratio))


def bm25(counts: Sequence[int], rarities: Sequence[float], length: int, average_length: float) -> float:
    """The score of a text for several words or phrases, in the order given; 0 if it has none of them."""
    score = 0.0
    for count, rarity in zip(counts, rarities, strict=True):
        if count:
            score += rarity * term_weight(count, length, average_length)
    return score
