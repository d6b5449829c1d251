"""Query expansion by the words that a corpus uses: those nearest to a query say in the corpus' own terms what it may
mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..models import Vector
from .text.query_tags import STOP_WORDS
from .text.tokens import plain_words, word_tokens
from .text.words import is_unspaced

MAX_TERMS = 20_000
"""31 MB with 384 numbers for each. Of ten evaluation sets none has more: 5,183 abstracts have 16,935."""
MIN_MEMORIES = 2
"""What a single memory says is mostly a name or a slip, and would lead nowhere else."""
ADDED_TERMS = 3

# A model cannot place an abbreviation of two letters without a text; what is very long is no word.
_MIN_CHARS, _MAX_CHARS = 3, 40


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The terms of a corpus, each with its vector."""

    terms: tuple[str, ...]
    vectors: NDArray[np.float32]
    """A row of length 1 for each term."""
    memories: int
    """How many the corpus had."""

    def nearest(self, query: str, vector: Vector, limit: int) -> list[str]:
        """The terms nearest to a query by cosine similarity, best first, without those that the query says itself in
        any form, and of several forms of one word only the nearest."""
        known = set(word_tokens(query))
        found: list[str] = []
        # Row by row, each too short for BLAS to take threads.
        nearest_first: list[int] = np.argsort(-np.vecdot(self.vectors, vector), kind="stable").tolist()
        for place in nearest_first:
            stems = word_tokens(self.terms[place])
            if known.isdisjoint(stems):
                known.update(stems)
                found.append(self.terms[place])
                if len(found) == limit:
                    break
        return found


def terms_of(text: str) -> set[str]:
    """The words of a text as they are written, but for case; without stop words, numbers, and scripts whose words
    nothing divides."""
    return {word for word in plain_words(text) if _is_term(word)}


def chosen_terms(memories_per_term: Mapping[str, int], limit: int = MAX_TERMS) -> tuple[str, ...]:
    """Those that enough memories have, the most frequent first; of equals in the order of the alphabet."""
    frequent = [term for term, memories in memories_per_term.items() if memories >= MIN_MEMORIES]
    return tuple(islice(sorted(frequent, key=lambda term: (-memories_per_term[term], term)), limit))


def expanded_query(query: str, terms: tuple[str, ...]) -> str:
    return " ".join((query, *terms))


def _is_term(word: str) -> bool:
    if not _MIN_CHARS <= len(word) <= _MAX_CHARS or word in STOP_WORDS:
        return False
    return any(map(str.isalpha, word)) and not (not word.isascii() and any(map(is_unspaced, word)))
