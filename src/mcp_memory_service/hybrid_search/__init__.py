"""Ranking as pure functions: no I/O, no clock, no settings; same input, same output, same order."""

from .alpha import BALANCED_ALPHA, AdaptiveThresholds, get_adaptive_alpha
from .evidence import (
    Evidence,
    WordEvidence,
    alpha_from_evidence,
    limit_alpha_for_named_tags,
    vector_prominence,
    word_evidence,
)
from .fused import Fused, FusedCandidate, Vote, best_first
from .fusion import (
    KEYWORD,
    NEIGHBOUR,
    TAG,
    VECTOR,
    FusionMethod,
    HybridScoreDebug,
    above_background,
    combine_results_rrf,
    debug_of,
    fuse_rrf,
    fuse_scores,
    rrf_score,
    share_of_best,
)
from .keywords import STOP_WORDS, TagVocabulary, extract_query_keywords
from .match_rank import as_rare_as_they_are_few, dividing_tags, shared_ranks, tag_weights
from .neighbours import lent_scores, missing_neighbours
from .policy import RankingPolicy
from .pool import Pool
from .recency import apply_recency_decay, recency_factor
from .snippets import matched_spans, snippet
from .tokens import indexed_text, query_terms, word_tokens

__all__ = [
    "BALANCED_ALPHA",
    "KEYWORD",
    "NEIGHBOUR",
    "STOP_WORDS",
    "TAG",
    "VECTOR",
    "AdaptiveThresholds",
    "Evidence",
    "Fused",
    "FusedCandidate",
    "FusionMethod",
    "HybridScoreDebug",
    "Pool",
    "RankingPolicy",
    "TagVocabulary",
    "Vote",
    "WordEvidence",
    "above_background",
    "alpha_from_evidence",
    "apply_recency_decay",
    "as_rare_as_they_are_few",
    "best_first",
    "combine_results_rrf",
    "debug_of",
    "dividing_tags",
    "extract_query_keywords",
    "fuse_rrf",
    "fuse_scores",
    "get_adaptive_alpha",
    "indexed_text",
    "lent_scores",
    "limit_alpha_for_named_tags",
    "matched_spans",
    "missing_neighbours",
    "query_terms",
    "recency_factor",
    "rrf_score",
    "share_of_best",
    "shared_ranks",
    "snippet",
    "tag_weights",
    "vector_prominence",
    "word_evidence",
    "word_tokens",
]
