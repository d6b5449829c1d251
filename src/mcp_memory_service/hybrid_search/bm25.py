"""BM25 and the inverse document frequency that goes with it, once for every store.

Its sums are made in one order everywhere, so that scores are equal to the last bit whichever store they come from.
"""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# Beside vectors, terms shall saturate early and long texts shall not lose much: over eleven sets the best constant
# alpha reaches a mean NDCG@10 of .628 with the usual 1.2 and 0.75, .632 with 0.9 and 0.4, .633 with these, and no less
# than .631 anywhere around them (docs/adr/0022).
K1 = 0.6
B = 0.5

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


def idf(documents: int, document_frequency: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): highest for a term that no document has, above 0 for one that all have, which
    in a store of a few memories is no rare thing. Documents may have been counted before the last of those that have
    the term were written: never fewer than none are without it."""
    return math.log(1.0 + (max(documents - document_frequency, 0) + 0.5) / (document_frequency + 0.5))


def odds_against(documents: int, document_frequency: int) -> float:
    """ln((N - n + 0.5) / (n + 0.5)), never below 0: what a term says for which it is known that it is there. One that
    half of the documents have says nothing."""
    return max(0.0, math.log((max(documents - document_frequency, 0) + 0.5) / (document_frequency + 0.5)))


def length_norm(length: Numbers, mean_length: float) -> Numbers:
    """How much the length of a document weakens its terms."""
    return K1 * ((1 - B) + B * length / mean_length)


def term_weight(frequency: Numbers, norm: Numbers) -> Numbers:
    """How much a term says of a document that has it so often, before it is multiplied by its idf."""
    return (frequency * (K1 + 1.0)) / (frequency + norm)


MAX_TERM_WEIGHT = K1 + 1.0
"""What no term weighs more than, however often it comes."""
