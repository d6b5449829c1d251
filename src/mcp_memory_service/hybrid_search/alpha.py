"""How much the vector signal counts, chosen from the size of the corpus."""

from typing import Protocol

BALANCED_ALPHA = 0.5
SEMANTIC_ALPHA = 0.7
STRONG_SEMANTIC_ALPHA = 0.8
MANY_MATCHING_TAGS = 3
MANY_TAGS_BOOST = 1.5

# A query that names a tag of at most one memory in twenty is about that thing. At 0.45 a memory that leads by tag comes
# before one that leads by vector. From there the limit rises evenly to 1 for a tag that half of the memories carry: a
# step would let a project be found worse the day it grows past a bound. See docs/adr/0004.
SPECIFIC_SHARE = 0.05
COMMON_SHARE = 0.5
SPECIFIC_ALPHA = 0.45


class AdaptiveThresholds(Protocol):
    """Where a corpus stops being small and starts being large."""

    @property
    def adaptive_threshold_small(self) -> int: ...
    @property
    def adaptive_threshold_large(self) -> int: ...


def get_adaptive_alpha(corpus_size: int, matching_tag_count: int, config: AdaptiveThresholds) -> float:
    """Alpha grows with the corpus; three or more matching tags raise the tag weight by half."""
    alpha = _alpha_for_size(corpus_size, config)
    if matching_tag_count < MANY_MATCHING_TAGS:
        return alpha
    return 1.0 - min(1.0, (1.0 - alpha) * MANY_TAGS_BOOST)


def _alpha_for_size(corpus_size: int, config: AdaptiveThresholds) -> float:
    if corpus_size < config.adaptive_threshold_small:
        return BALANCED_ALPHA
    if corpus_size < config.adaptive_threshold_large:
        return SEMANTIC_ALPHA
    return STRONG_SEMANTIC_ALPHA


def limit_alpha_for_specific_tags(alpha: float, tagged_memories: int, corpus_size: int) -> float:
    """Let the tag signal lead the more, the fewer memories carry what the query names; a balanced alpha stays."""
    if tagged_memories == 0 or corpus_size == 0 or alpha <= BALANCED_ALPHA:
        return alpha
    share = tagged_memories / corpus_size if tagged_memories > 1 else 0.0
    common = min(1.0, max(0.0, (share - SPECIFIC_SHARE) / (COMMON_SHARE - SPECIFIC_SHARE)))
    return min(alpha, SPECIFIC_ALPHA + common * (1.0 - SPECIFIC_ALPHA))


def limit_alpha_for_standing_out_words(alpha: float, standing_out: bool) -> float:
    """Let words lead when one or two memories stand out by them; a balanced alpha stays."""
    return min(alpha, SPECIFIC_ALPHA) if standing_out and alpha > BALANCED_ALPHA else alpha
