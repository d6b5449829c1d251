"""Ranking as pure functions: no I/O, no clock, no settings; same input, same output, same order."""

from .alpha import AdaptiveThresholds, get_adaptive_alpha, limit_alpha_for_specific_tags
from .fusion import FusedCandidate, HybridScoreDebug, combine_results_rrf, rrf_score
from .keywords import STOP_WORDS, TagVocabulary, extract_query_keywords
from .policy import RankingPolicy
from .recency import apply_recency_decay, recency_factor
from .tag_rank import shared_ranks, strong_matches, tag_weights

__all__ = [
    "STOP_WORDS",
    "AdaptiveThresholds",
    "FusedCandidate",
    "HybridScoreDebug",
    "RankingPolicy",
    "TagVocabulary",
    "apply_recency_decay",
    "combine_results_rrf",
    "extract_query_keywords",
    "get_adaptive_alpha",
    "limit_alpha_for_specific_tags",
    "recency_factor",
    "rrf_score",
    "shared_ranks",
    "strong_matches",
    "tag_weights",
]
