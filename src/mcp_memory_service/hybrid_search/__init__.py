"""Ranking as pure functions: no I/O, no clock, no settings; same input, same output, same order."""

from .alpha import (
    AdaptiveThresholds,
    get_adaptive_alpha,
    limit_alpha_for_specific_tags,
    limit_alpha_for_standing_out_words,
)
from .fusion import (
    KEYWORD,
    TAG,
    VECTOR,
    FusedCandidate,
    FusionMethod,
    HybridScoreDebug,
    Vote,
    combine_results_rrf,
    debug_of,
    fuse_rrf,
    fuse_scores,
    min_max,
    rrf_score,
)
from .keywords import STOP_WORDS, TagVocabulary, extract_query_keywords
from .match_rank import dividing_tags, shared_ranks, split_by_strength, split_standing_out, tag_weights
from .policy import RankingPolicy
from .recency import apply_recency_decay, recency_factor
from .snippets import matched_spans, snippet
from .tokens import indexed_text, query_terms

__all__ = [
    "KEYWORD",
    "STOP_WORDS",
    "TAG",
    "VECTOR",
    "AdaptiveThresholds",
    "FusedCandidate",
    "FusionMethod",
    "HybridScoreDebug",
    "RankingPolicy",
    "TagVocabulary",
    "Vote",
    "apply_recency_decay",
    "combine_results_rrf",
    "debug_of",
    "dividing_tags",
    "extract_query_keywords",
    "fuse_rrf",
    "fuse_scores",
    "get_adaptive_alpha",
    "indexed_text",
    "limit_alpha_for_specific_tags",
    "limit_alpha_for_standing_out_words",
    "matched_spans",
    "min_max",
    "query_terms",
    "recency_factor",
    "rrf_score",
    "shared_ranks",
    "snippet",
    "split_by_strength",
    "split_standing_out",
    "tag_weights",
]
