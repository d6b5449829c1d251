"""How much the vector signal counts when ranks are fused, chosen from the size of the corpus."""

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
