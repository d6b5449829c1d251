"""Ranks for tag matches: how many tags matched and how rare they are, not first place for everyone."""

import math
from collections.abc import Mapping, Sequence

from ..models import Candidate

# Of the best match's weight. Two equally rare tags of which a memory carries one are exactly half.
STRONG_SHARE = 0.5


def tag_weights(memories_per_tag: Mapping[str, int], corpus_size: int) -> dict[str, float]:
    """The weight of each tag: its inverse document frequency as BM25 has it, always above zero.

    Summed over the matched tags of a memory it grows with each match and most with the rare ones: one tag that
    names a single project outweighs several that every project carries.
    """
    return {
        tag: math.log(1.0 + (max(corpus_size, memories) - memories + 0.5) / (memories + 0.5))
        for tag, memories in memories_per_tag.items()
    }


def shared_ranks(scores: Sequence[float]) -> list[int]:
    """Rank descending scores so that equals share one rank: how many match at least this well.

    Equal tag matches say nothing about each other, so the other signals must decide among them; and a tag that
    hundreds carry lifts nobody far. [9, 4, 4, 1] → [1, 3, 3, 4].
    """
    ranks = [0] * len(scores)
    last_of_group = len(scores)
    for position in range(len(scores) - 1, -1, -1):
        if position + 1 < len(scores) and scores[position] != scores[position + 1]:
            last_of_group = position + 1
        ranks[position] = last_of_group
    return ranks


def strong_matches(tag_matches: Sequence[Candidate]) -> list[Candidate]:
    """The matches that carry at least half the weight of the best one, in the same order.

    RRF ranks are so flat (1/61 against 1/71) that a memory with only the common tags of a query would get nearly the
    vote of the one with its rare tag; what matches far less than the best has no vote.
    """
    if not tag_matches:
        return []
    least = STRONG_SHARE * tag_matches[0].raw_score
    return [match for match in tag_matches if match.raw_score >= least]
