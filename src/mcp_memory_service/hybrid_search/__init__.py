"""Ranking as pure functions: no I/O, no clock, no settings; same input, same output, same order."""

from .alpha import BALANCED_ALPHA, AdaptiveThresholds, alpha_for_size, get_adaptive_alpha
from .columns.fused import Fused, FusedCandidate, Vote, best_first
from .columns.pool import Pool
from .confidence import VectorStanding, certainty, confidence_of, is_at_least, vector_standing, word_coverage
from .evidence import (
    Evidence,
    WordEvidence,
    alpha_from_evidence,
    alpha_of_covered,
    limit_alpha_for_named_tags,
    vector_prominence,
    word_evidence,
)
from .fusion import combine_results_rrf, fuse_rrf, fuse_scores, rrf_score
from .graph import LEADERS, Direction, LinkBoost, Links, Route, link_boosts
from .likeness import MIN_LIKENESS, compared_words, likeness, mean_direction
from .policy import CLASSIC, FusionMethod, GraphForm, RankingName, RankingPolicy, RecencyMethod
from .recency import (
    apply_recency_decay,
    apply_recency_tiers,
    apply_time_hint,
    recency_factor,
    tiered_recency_factor,
)
from .rerank import RERANK, lift_updates_among, rerank
from .sessions import missing_neighbours, neighbour_boosts
from .signals import (
    GRAPH,
    KEYWORD,
    NEIGHBOUR,
    SIGNALS,
    TAG,
    VECTOR,
    Signal,
    above_baseline,
    chosen_signals,
    links_count,
    neighbour_share,
    share_of_best,
    signal_weights,
    stands_alone,
)
from .spread import page_places
from .tag_weights import as_rare_as_they_are_few, dividing_tags, shared_ranks, tag_weights
from .text.dates import Period, read_period
from .text.passages import MAX_PASSAGE_CHARS, best_passages
from .text.query_dates import TimeHint, Wanted, time_in, without_time
from .text.query_tags import STOP_WORDS, TagVocabulary, extract_query_keywords
from .text.snippets import matched_spans, snippet
from .text.tokens import indexed_text, query_terms, word_tokens
from .updates import lift_updates, possible_updates

__all__ = [
    "BALANCED_ALPHA",
    "CLASSIC",
    "GRAPH",
    "KEYWORD",
    "LEADERS",
    "MAX_PASSAGE_CHARS",
    "MIN_LIKENESS",
    "NEIGHBOUR",
    "RERANK",
    "SIGNALS",
    "STOP_WORDS",
    "TAG",
    "VECTOR",
    "AdaptiveThresholds",
    "Direction",
    "Evidence",
    "Fused",
    "FusedCandidate",
    "FusionMethod",
    "GraphForm",
    "LinkBoost",
    "Links",
    "Period",
    "Pool",
    "RankingName",
    "RankingPolicy",
    "RecencyMethod",
    "Route",
    "Signal",
    "TagVocabulary",
    "TimeHint",
    "VectorStanding",
    "Vote",
    "Wanted",
    "WordEvidence",
    "above_baseline",
    "alpha_for_size",
    "alpha_from_evidence",
    "alpha_of_covered",
    "apply_recency_decay",
    "apply_recency_tiers",
    "apply_time_hint",
    "as_rare_as_they_are_few",
    "best_first",
    "best_passages",
    "certainty",
    "chosen_signals",
    "combine_results_rrf",
    "compared_words",
    "confidence_of",
    "dividing_tags",
    "extract_query_keywords",
    "fuse_rrf",
    "fuse_scores",
    "get_adaptive_alpha",
    "indexed_text",
    "is_at_least",
    "lift_updates",
    "lift_updates_among",
    "likeness",
    "limit_alpha_for_named_tags",
    "link_boosts",
    "links_count",
    "matched_spans",
    "mean_direction",
    "missing_neighbours",
    "neighbour_boosts",
    "neighbour_share",
    "page_places",
    "possible_updates",
    "query_terms",
    "read_period",
    "recency_factor",
    "rerank",
    "rrf_score",
    "share_of_best",
    "shared_ranks",
    "signal_weights",
    "snippet",
    "stands_alone",
    "tag_weights",
    "tiered_recency_factor",
    "time_in",
    "vector_prominence",
    "vector_standing",
    "without_time",
    "word_coverage",
    "word_evidence",
    "word_tokens",
]
