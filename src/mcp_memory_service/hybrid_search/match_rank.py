"""Which matches of tags and words count, and how: rare ones more, equals alike, weak ones not at all."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from ..models import Candidate
from .alpha import COMMON_SHARE

# Of the best match's weight. Two equally rare tags of which a memory carries one are exactly half.
STRONG_SHARE = 0.5

SMALLEST_JUDGED_CORPUS = 10

# Measured with alpha limited to 0.45 when so few matches stand out, NDCG@10: CoSQA .566 → .568, Cranfield .398 → .398;
# with 5 instead of 2 Cranfield falls to .395, with 10 to .389 (docs/adr/0004).
MOST_STANDING_OUT = 2


def tag_weights(memories_per_tag: Mapping[str, int], corpus_size: int) -> dict[str, float]:
    """The weight of each tag: its inverse document frequency as BM25 has it, always above zero.

    Summed over the matched tags of a memory it grows with each match and most with the rare ones: one tag that
    names a single project outweighs several that every project carries.
    """
    return {
        tag: math.log(1.0 + (max(corpus_size, memories) - memories + 0.5) / (memories + 0.5))
        for tag, memories in memories_per_tag.items()
    }


def dividing_tags(memories_per_tag: Mapping[str, int], corpus_size: int) -> dict[str, int]:
    """The tags that tell memories apart: one that most memories carry would lift them all above the rest.

    In a store of a few memories every tag is on a large share of them, so there all count.
    """
    if corpus_size < SMALLEST_JUDGED_CORPUS:
        return dict(memories_per_tag)
    return {tag: memories for tag, memories in memories_per_tag.items() if memories <= COMMON_SHARE * corpus_size}


def shared_ranks(scores: Sequence[float]) -> list[int]:
    """Rank descending scores so that equals share one rank, the middle of their places.

    Equal matches say nothing about each other, so the other signals must decide among them; and a tag that hundreds
    carry lifts nobody far. [9, 4, 4, 4, 1] → [1, 3, 3, 3, 5].
    """
    ranks: list[int] = []
    for _, group in groupby(scores):
        size = sum(1 for _ in group)
        first = len(ranks) + 1
        ranks += [first + (size - 1) // 2] * size
    return ranks


def split_by_strength(tag_matches: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """The matches that carry at least half the weight of the best one, and the weak rest, each in the same order.

    RRF ranks are so flat (1/61 against 1/71) that a memory with only the common tags of a query would get nearly the
    vote of the one with its rare tag; what matches far less than the best has no vote.
    """
    least = STRONG_SHARE * tag_matches[0].raw_score if tag_matches else 0.0
    strong = [match for match in tag_matches if match.raw_score >= least]
    return strong, list(tag_matches[len(strong) :])


def split_standing_out(keyword_matches: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """The one or two matches that are at least twice as good as all others, and those others.

    A query with a word that only they have ("rathole") is about them, whatever its other words match. If nobody stands
    out so far, the first list is empty.
    """
    strong, weak = split_by_strength(keyword_matches)
    return (strong, weak) if len(strong) <= MOST_STANDING_OUT else ([], list(keyword_matches))
