"""The search pipeline: ask the signals in parallel, fuse once, sort once, cut the page."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..embeddings.base import Embedder
from ..errors import SearchUnavailable, Unavailable
from ..hybrid_search import (
    FusedCandidate,
    HybridScoreDebug,
    RankingPolicy,
    apply_recency_decay,
    combine_results_rrf,
    extract_query_keywords,
    get_adaptive_alpha,
    limit_alpha_for_specific_tags,
    strong_matches,
    tag_weights,
)
from ..models import Candidate, Memory, MemoryFilter, fold_tag
from ..storage.base import MemoryStorage
from .results import Hit, Paging, RetrievalResult, SignalRank
from .tag_cache import KnownTags, TagCache

TAG_LIST_TIMEOUT_SECONDS = 2.0
# Taken when the corpus cannot be counted: it then counts as small, and alpha is balanced.
UNKNOWN_CORPUS_SIZE = 0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetrievalRequest:
    query: str
    where: MemoryFilter
    page: int
    page_size: int
    extract_tags: bool
    """False when the caller named the tags, or wants none."""
    min_similarity: float | None
    alpha: float | None
    debug: bool


@dataclass(frozen=True, slots=True)
class _Signal:
    """What a signal answered; a signal that was not asked has answered with nothing."""

    candidates: Sequence[Candidate] = ()
    degraded: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _TagSignal(_Signal):
    keywords: tuple[str, ...] = ()
    corpus_size: int = UNKNOWN_CORPUS_SIZE


class Retrieval:
    """`now_microseconds` dates the memories, `monotonic_seconds` measures the search."""

    def __init__(
        self,
        storage: MemoryStorage,
        embedder: Embedder,
        tags: TagCache,
        policy: RankingPolicy,
        now_microseconds: Callable[[], int],
        monotonic_seconds: Callable[[], float],
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._tags = tags
        self._policy = policy
        self._now = now_microseconds
        self._seconds = monotonic_seconds

    async def run(self, request: RetrievalRequest) -> RetrievalResult:
        started = self._seconds()
        chosen_alpha = self._policy.hybrid_alpha if request.alpha is None else request.alpha
        by_meaning, by_tags = await asyncio.gather(
            self._by_meaning(request) if chosen_alpha != 0 else _not_asked(),
            self._by_tags(request) if chosen_alpha != 1 else _tags_not_asked(),
        )
        _require_an_answer(by_meaning, by_tags)
        # With one signal alone its order stays as it is; with two, weak tag matches have no vote.
        tag_votes = strong_matches(by_tags.candidates) if by_meaning.candidates else by_tags.candidates
        alpha = chosen_alpha
        if alpha is None:
            alpha = self._adaptive_alpha(by_tags, len(tag_votes))
        ranked = self._rank(by_meaning.candidates, tag_votes, alpha)
        paging = Paging(page=request.page, page_size=request.page_size, total=len(ranked))
        return RetrievalResult(
            results=await self._hits(request, ranked, paging, by_tags.keywords),
            query=request.query,
            paging=paging,
            alpha_used=alpha,
            keywords=by_tags.keywords,
            degraded=by_meaning.degraded + by_tags.degraded,
            took_ms=round((self._seconds() - started) * 1000, 3),
        )

    async def _by_meaning(self, request: RetrievalRequest) -> _Signal:
        try:
            (query_vector,) = await self._embedder.embed([request.query])
        except Unavailable as error:
            return _Signal(degraded=(_note("embedder_unavailable", error),), failed=True)
        try:
            found = await self._storage.retrieve(query_vector, self._policy.ranking_window, request.where)
        except Unavailable as error:
            return _Signal(degraded=(_note("vector_search_unavailable", error),), failed=True)
        least = request.min_similarity
        return _Signal([c for c in found if least is None or c.raw_score >= least])

    async def _by_tags(self, request: RetrievalRequest) -> _TagSignal:
        known, corpus_size = await asyncio.gather(self._known_tags(), self._corpus_size())
        degraded = (() if known else ("tag_list_unavailable",)) + (
            () if corpus_size is not None else ("corpus_size_unavailable",)
        )
        corpus_size = corpus_size or UNKNOWN_CORPUS_SIZE
        keywords = _wanted_tags(request, known)
        if not keywords:
            return _TagSignal(degraded=degraded, corpus_size=corpus_size)
        counts = {tag: known.memories_per_tag.get(tag, 0) if known else 0 for tag in keywords}
        try:
            found = await self._storage.search_by_tag(
                tag_weights(counts, corpus_size), self._policy.ranking_window, request.where
            )
        except Unavailable as error:
            degraded += (_note("tag_search_unavailable", error),)
            return _TagSignal(degraded=degraded, failed=True, corpus_size=corpus_size)
        return _TagSignal(found, degraded, keywords=keywords, corpus_size=corpus_size)

    async def _known_tags(self) -> KnownTags | None:
        try:
            return await asyncio.wait_for(self._tags.tags(), TAG_LIST_TIMEOUT_SECONDS)
        except (Unavailable, TimeoutError) as error:
            _note("tag_list_unavailable", error)
            return None

    async def _corpus_size(self) -> int | None:
        try:
            return await self._storage.count_all_memories(self._tags.namespace)
        except Unavailable as error:
            _note("corpus_size_unavailable", error)
            return None

    def _adaptive_alpha(self, by_tags: _TagSignal, tag_votes: int) -> float:
        alpha = get_adaptive_alpha(by_tags.corpus_size, len(by_tags.keywords), self._policy)
        return limit_alpha_for_specific_tags(alpha, tag_votes, by_tags.corpus_size)

    def _rank(
        self, by_meaning: Sequence[Candidate], by_tags: Sequence[Candidate], alpha: float
    ) -> list[FusedCandidate]:
        fused = combine_results_rrf(by_meaning, by_tags, alpha, self._policy.rrf_k)
        if alpha in {0.0, 1.0}:
            return fused  # asked for one signal alone: its order stays exactly as it is
        return apply_recency_decay(fused, self._policy.recency_decay, self._now(), self._policy.recency_floor)

    async def _hits(
        self, request: RetrievalRequest, ranked: Sequence[FusedCandidate], paging: Paging, wanted_tags: Sequence[str]
    ) -> tuple[Hit, ...]:
        page = ranked[paging.offset : paging.offset + paging.page_size]
        if not page:
            return ()
        found = await self._storage.get_many(request.where.namespace, [candidate.content_hash for candidate in page])
        candidates = {candidate.content_hash: candidate for candidate in page}
        hits: list[Hit] = []
        for memory in found:  # one that was deleted since the signals answered is not among them
            candidate = candidates[memory.content_hash]
            hit = _hit(memory, candidate, best=ranked[0].score)
            hits.append(replace(hit, debug=_breakdown(memory, candidate, wanted_tags)) if request.debug else hit)
        return tuple(hits)


def _hit(memory: Memory, candidate: FusedCandidate, best: float) -> Hit:
    provenance: dict[str, SignalRank] = {}
    if candidate.vector_rank is not None and candidate.vector_score is not None:
        provenance["vector"] = SignalRank(candidate.vector_rank, candidate.vector_score)
    if candidate.tag_rank is not None and candidate.tag_score is not None:
        provenance["tag"] = SignalRank(candidate.tag_rank, candidate.tag_score)
    return Hit(memory, candidate.score / best, candidate.vector_score, provenance)


def _breakdown(memory: Memory, candidate: FusedCandidate, wanted_tags: Sequence[str]) -> HybridScoreDebug:
    votes = candidate.tag_rank is not None
    return candidate.debug([tag for tag in memory.tags if votes and fold_tag(tag) in wanted_tags])


def _wanted_tags(request: RetrievalRequest, known: KnownTags | None) -> tuple[str, ...]:
    """The tags to look for: the caller's, else those the query names, else (no list to be had) its words."""
    if not request.extract_tags:
        return request.where.tags
    return tuple(extract_query_keywords(request.query, known.vocabulary if known else None))


def _require_an_answer(*signals: _Signal) -> None:
    """An empty list must mean that nothing matches, never that nobody could be asked."""
    if any(signal.failed for signal in signals) and not any(signal.candidates for signal in signals):
        reasons = ", ".join(reason for signal in signals for reason in signal.degraded)
        raise SearchUnavailable(f"The search could not be answered ({reasons}).")


async def _not_asked() -> _Signal:
    return _Signal()


async def _tags_not_asked() -> _TagSignal:
    return _TagSignal()


def _note(reason: str, error: Exception) -> str:
    logger.warning("Search goes on without a part: %s (%s)", reason, error)
    return reason
