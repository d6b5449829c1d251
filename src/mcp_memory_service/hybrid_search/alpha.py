"""How much the vector signal counts by the size of the corpus: alpha itself when ranks are fused, and the prior that
evidence moves when scores are."""

from typing import Protocol

BALANCED_ALPHA = 0.5
SEMANTIC_ALPHA = 0.7
STRONG_SEMANTIC_ALPHA = 0.8
MANY_MATCHING_TAGS = 3
MANY_TAGS_BOOST = 1.5


class AdaptiveThresholds(Protocol):
    """Where a corpus stops being small and starts being large."""

    @property
    def adaptive_threshold_small(self) -> int: ...
    @property
    def adaptive_threshold_large(self) -> int: ...


def get_adaptive_alpha(corpus_size: int, matching_tag_count: int, config: AdaptiveThresholds) -> float:
    """Alpha grows with the corpus; three or more matching tags raise the tag weight by half."""
    alpha = alpha_for_size(corpus_size, config)
    if matching_tag_count < MANY_MATCHING_TAGS:
        return alpha
    return 1.0 - min(1.0, (1.0 - alpha) * MANY_TAGS_BOOST)


def alpha_for_size(corpus_size: int, config: AdaptiveThresholds) -> float:
    """Before anything is known of the query."""
    if corpus_size < config.adaptive_threshold_small:
        return BALANCED_ALPHA
    if corpus_size < config.adaptive_threshold_large:
        return SEMANTIC_ALPHA
    return STRONG_SEMANTIC_ALPHA
