"""Which matches of tags and words count, and how: rare ones more, equals alike."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..models import Candidate
from .bm25 import idf
from .columns.candidates import Candidates

MIN_JUDGED_CORPUS = 10

# A tag that more than half of the memories carry does not tell them apart.
COMMON_SHARE = 0.5


def tag_weights(memories_per_tag: Mapping[str, int], corpus_size: int) -> dict[str, float]:
    """How rare each tag is: 1 for one that a single memory carries, near 0 for one that nearly all carry.

    The inverse document frequency of BM25 as a share of its greatest value. Summed over the matched tags of a memory it
    grows with each match and most with the rare ones: one tag that names a single project outweighs several that every
    project carries.
    """
    greatest = idf(max(corpus_size, 1), 1)
    return {tag: idf(corpus_size, count) / greatest for tag, count in memories_per_tag.items()}


def as_rare_as_they_are_few(matches: Sequence[Candidate], corpus_size: int) -> Candidates:
    """Tag matches, best first, with scores no higher than the idf of matching so well: as if one tag were carried by
    all that match at least as well. Several common tags add up, but hundreds that carry them all are still hundreds."""
    found = Candidates.of(matches)
    greatest = idf(max(corpus_size, 1), 1)
    starts, sizes = _runs_of_equals(found.scores)
    as_good: list[int] = (starts + sizes).tolist()
    idfs = [idf(corpus_size, count) / greatest for count in as_good]
    limits = np.array(idfs, np.float64).repeat(sizes)
    return found.with_scores(np.minimum(found.scores, limits))


def dividing_tags(memories_per_tag: Mapping[str, int], corpus_size: int) -> dict[str, int]:
    """The tags that tell memories apart: one that most memories carry would lift them all above the rest.

    In a store of a few memories every tag is on a large share of them, so there all count.
    """
    if corpus_size < MIN_JUDGED_CORPUS:
        return dict(memories_per_tag)
    return {tag: memories for tag, memories in memories_per_tag.items() if memories <= COMMON_SHARE * corpus_size}


def shared_ranks(scores: Sequence[float]) -> list[int]:
    """Rank descending scores so that equals share one rank, the middle of their places.

    Equal matches say nothing about each other, so the other signals must decide among them; and a tag that hundreds
    carry lifts nobody far. [9, 4, 4, 4, 1] → [1, 3, 3, 3, 5].
    """
    return rank_column(np.asarray(scores, np.float64)).tolist()


def rank_column(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """`shared_ranks` of a column."""
    starts, sizes = _runs_of_equals(scores)
    return (starts + 1 + (sizes - 1) // 2).repeat(sizes)


def _runs_of_equals(scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each run of equal scores begins, and how long it is."""
    begins = np.empty(len(scores) + 1, np.bool_)  # one more, which begins where the last one ends
    begins[0] = begins[-1] = True
    np.not_equal(scores[1:], scores[:-1], out=begins[1:-1])
    (edges,) = begins.nonzero()
    return edges[:-1], edges[1:] - edges[:-1]
