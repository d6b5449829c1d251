"""BM25 and the inverse document frequencies that go with it, once for every store.

Constants, operations and their order are those of SQLite's FTS5, so that scores are equal to the last bit.
"""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
B = 0.75
MIN_IDF = 1e-6
"""What FTS5 gives a term that at least half of the documents have."""

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


# Documents may have been counted before the last of those that have the term were written: never fewer than none are
# without it.


def idf(documents: int, document_frequency: int) -> float:
    """ln((N - n + 0.5) / (n + 0.5)), never below 0: highest for a term that no document has."""
    return max(0.0, math.log((max(documents - document_frequency, 0) + 0.5) / (document_frequency + 0.5)))


def fts5_idf(documents: int, document_frequency: int) -> float:
    """The same as FTS5 weighs terms by it, never 0."""
    return idf(documents, document_frequency) or MIN_IDF


def lucene_idf(documents: int, document_frequency: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): above 0 for every term. Lucene has it so, and Qdrant by its modifier `idf`."""
    return math.log(1.0 + (max(documents - document_frequency, 0) + 0.5) / (document_frequency + 0.5))


def length_norm(length: Numbers, mean_length: float) -> Numbers:
    """How much the length of a document weakens its terms."""
    return K1 * ((1 - B) + B * length / mean_length)


def term_weight(frequency: Numbers, norm: Numbers) -> Numbers:
    """How much a term says of a document that has it so often, before it is multiplied by its idf."""
    return (frequency * (K1 + 1.0)) / (frequency + norm)


MAX_TERM_WEIGHT = K1 + 1.0
"""What no term weighs more than, however often it comes."""
