"""How alike two memories are: whether one may repeat, correct or contradict the other."""

from collections.abc import Sequence, Set

import numpy as np

from ..models import Vector
from .text.tokens import word_tokens

# A corrected fact keeps most of its words while its vector may move far: shared words count twice as much as the
# cosine. Of 90 labelled pairs of our own corpus this names 66 with a precision of .65; naming about as many memories,
# the cosine alone has 43 and words alone have 55 (python -m tests.eval.similar_pairs).
WORDS_WEIGHT = 2.0
MIN_LIKENESS = 0.3

# So much of a text is compared by its words: longer ones would make a store wait for them.
MAX_COMPARED_CHARS = 2_000


def likeness(similarity: float, words: Set[str], other_words: Set[str]) -> float:
    """From the cosine similarity and the share of words that two texts have in common; 1 for equal texts."""
    return (similarity + WORDS_WEIGHT * shared_words(words, other_words)) / (1.0 + WORDS_WEIGHT)


def shared_words(words: Set[str], other_words: Set[str]) -> float:
    """The share that two texts have in common of the words of both."""
    all_words = len(words | other_words)
    return len(words & other_words) / all_words if all_words else 0.0


def compared_words(content: str) -> frozenset[str]:
    return frozenset(word_tokens(content[:MAX_COMPARED_CHARS], without_stop_words=True))


def mean_direction(vectors: Sequence[Vector]) -> Vector:
    """Of a whole text, however many chunks it has: a vector of length 1."""
    directions = np.stack([vector / np.linalg.norm(vector) for vector in vectors])
    mean = directions.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return (mean / length if length > 0 else directions[0]).astype(np.float32)
