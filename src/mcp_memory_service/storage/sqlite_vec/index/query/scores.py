"""How a term adds to the scores of documents; see `Score` of maxscore.py."""

import numpy as np
from numpy.typing import NDArray

from .....hybrid_search.bm25 import length_norm, term_weight
from .maxscore import Numbers, Places


def bm25(norms: Numbers, documents: Places, frequencies: Numbers, idf: Numbers | float) -> Numbers:
    return idf * term_weight(frequencies, norms[documents])


def bm25_of_some(
    lengths: NDArray[np.uint32], mean_length: float, documents: Places, frequencies: Numbers, idf: Numbers | float
) -> Numbers:
    return idf * term_weight(frequencies, length_norm(lengths[documents].astype(np.float64), mean_length))


def looked_up(scores: Numbers, _documents: Places, places: Numbers, _weight: Numbers | float) -> Numbers:
    return scores[places.astype(np.intp)]


def constant(documents: Places, _frequencies: Numbers, weight: Numbers | float) -> Numbers:
    return weight + np.zeros(documents.size)
