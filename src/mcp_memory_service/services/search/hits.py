"""What an answer says of each memory on its page."""

from collections.abc import Sequence

from ...hybrid_search import MAX_PASSAGE_CHARS, TAG, VECTOR, Fused, FusedCandidate, RankingPolicy, snippet
from ...models import Memory, SearchRequest, fold_tag
from .passages import passages_of
from .ranking import Ranking
from .results import Hit, ScoreBreakdown
from .signals import ChunkSimilarities


def hits_of(
    request: SearchRequest,
    policy: RankingPolicy,
    ranking: Ranking,
    page: Fused,
    memories: Sequence[Memory],
    chunks: ChunkSimilarities,
) -> tuple[Hit, ...]:
    """Of those that are there: one that was deleted since the signals answered is not."""
    if not memories:
        return ()
    candidates = {candidate.content_hash: candidate for candidate in page}
    best = ranking.fused.best_score
    hits: list[Hit] = []
    for memory in memories:
        candidate = candidates[memory.content_hash]
        votes = candidate.contributions
        hits.append(
            Hit(
                memory=memory,
                score=candidate.score / best if best else 1.0,
                similarity=votes[VECTOR].score if VECTOR in votes else None,
                provenance=votes,
                snippet=snippet(memory.content, request.query),
                debug=_breakdown(policy, ranking, memory, candidate) if request.debug else None,
                passages=passages_of(memory, request.query, chunks.by_id.get(memory.content_hash, ()))
                if len(memory.content) > MAX_PASSAGE_CHARS and not request.full
                else (),
                beside_code="code" in request.kinds,
                freshness=ranking.freshness.get(memory.content_hash),
            )
        )
    return tuple(hits)


def _breakdown(policy: RankingPolicy, whole: Ranking, memory: Memory, candidate: FusedCandidate) -> ScoreBreakdown:
    ranking = whole.part_of(memory)
    wanted = ranking.results.of(TAG).terms if TAG in candidate.contributions else ()
    return ScoreBreakdown(
        contributions=candidate.contributions,
        tag_matches=tuple(tag for tag in memory.tags if fold_tag(tag) in wanted),
        recency_factor=1.0 if ranking.time else candidate.recency_factor,
        time_factor=candidate.recency_factor if ranking.time else 1.0,
        update_factor=ranking.update_factors.get(candidate.content_hash, 1.0),
        kind_factor=whole.kind_factor_of(memory),
        freshness_factor=whole.freshness_factors.get(candidate.content_hash, 1.0),
        final_score=candidate.score,
        rerank_weight=whole.rerank_weight,
        alpha_prior=ranking.prior,
        alpha_used=ranking.alpha,
        ranking=policy.ranking,
        fusion=policy.fusion,
        expanded_with=ranking.results.of(VECTOR).terms,
    )
