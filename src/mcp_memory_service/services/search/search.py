"""A search: prepare → ask → rank → page.

`prepare` waits for the model and the caches; the rest is one coroutine that the store runs on a snapshot, where nothing
is awaited but that snapshot (`storage/ports/search.py`).
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any, TypeVar

from ...hybrid_search import (
    BALANCED_ALPHA,
    GRAPH,
    MAX_PASSAGE_CHARS,
    NEIGHBOUR,
    SIGNALS,
    TAG,
    VECTOR,
    Evidence,
    Fused,
    FusedCandidate,
    Links,
    RankingPolicy,
    TimeHint,
    alpha_for_size,
    alpha_from_evidence,
    alpha_of_covered,
    apply_recency_decay,
    apply_recency_tiers,
    apply_time_hint,
    chosen_signals,
    fuse_rrf,
    fuse_scores,
    get_adaptive_alpha,
    is_at_least,
    lift_updates,
    limit_alpha_for_named_tags,
    links_count,
    missing_neighbours,
    neighbour_share,
    possible_updates,
    signal_weights,
    snippet,
    stands_alone,
    time_in,
)
from ...hybrid_search.columns.pool import Pool
from ...models import Candidate, Memory, MemoryFilter, SearchMode, SearchRequest, fold_tag
from ...storage.ports import Snapshot, Store
from ...timestamps import from_microseconds
from .cached_inputs import CachedInputs
from .paging import read_page
from .passages import passages_of
from .query import Missing, QueryVector, SignalQuery
from .ranking import Page, Ranking
from .reranking import Reranking
from .results import Hit, Paging, ScoreBreakdown, SearchResult
from .signals import (
    LEADING,
    UNKNOWN_SIMILARITIES,
    ChunkSimilarities,
    Outdated,
    SignalResults,
    ask,
    ask_chunks,
    ask_links,
    ask_neighbours,
)
from .with_history import WithHistory

# Beside vectors, which rank a whole window, words and tags name a quarter as many: what they place further down could
# add less than a fifth of a first place's vote, and would make a search at 10,000 memories about 15 % slower.
LEXICAL_DIVISOR = 4

# So much is cut into snippets in a few milliseconds.
LONG_PAGE_CHARS = 20_000
T = TypeVar("T")


class Search:
    """`now` dates the memories and the queries, in `zone`; `monotonic_seconds` measures the search. Without
    `reranking` nothing is re-ranked."""

    def __init__(
        self,
        storage: Store,
        inputs: CachedInputs,
        policy: RankingPolicy,
        now: Callable[[], int],
        monotonic_seconds: Callable[[], float],
        zone: tzinfo = UTC,
        reranking: Reranking | None = None,
    ) -> None:
        self._storage = storage
        self.inputs = inputs
        self.policy = policy
        self._now = now
        self._seconds = monotonic_seconds
        self.zone = zone
        self._reranking = reranking

    def reranks(self, request: SearchRequest) -> bool:
        return self._reranking is not None and self._reranking.is_wanted(request)

    async def query_vector(self, request: SearchRequest, where: MemoryFilter) -> QueryVector | Missing | None:
        """What `run` takes for the vector of the query; None if it needs none."""
        query = self._signal_query(request, where)
        return await self.inputs.query_vector(query) if VECTOR in query.signals else None

    async def run(self, request: SearchRequest, where: MemoryFilter, vector: QueryVector | None = None) -> SearchResult:
        """One page; with the vector of the query, if who asks has it."""
        started = self._seconds()
        page = await self._ranked_page(request, where, vector)
        ranking, hits = page.ranking, page.hits
        if hits is None:  # neither in the event loop, nor while the store is held
            hits = await asyncio.to_thread(self._hits, request, ranking, page.candidates, page.memories, page.chunks)
        return SearchResult(
            results=hits,
            query=request.query,
            mode=request.mode,
            paging=page.paging,
            alpha_used=ranking.alpha,
            keywords=ranking.results.of(TAG).terms,
            degraded=(*ranking.results.degraded, *ranking.not_reranked, *page.chunks.degraded),
            took_ms=round((self._seconds() - started) * 1000, 3),
            evidence=ranking.evidence,
            confidence=page.confidence,
            cut=page.cut,
            time=ranking.time,
            after=where.after,
            before=where.before,
            expanded_with=ranking.results.of(VECTOR).terms,
        )

    async def ranking(self, request: SearchRequest, where: MemoryFilter, *, depth: int | None = None) -> Ranking:
        """The ranking of which a page is the answer; with a depth, so deep into every signal and not re-ranked."""
        if depth is None and self.reranks(request):
            return (await self._ranked_page(replace(request, page=1), where)).ranking
        now = self._now()
        query = self._signal_query(request, where)
        if depth is not None:
            query = replace(query, vector_limit=depth, lexical_limit=depth)
        return await self._asked(
            query,
            lambda results, snapshot: self.rank(request, where, results, snapshot, now),
            part_by_part=depth is not None,
        )

    async def all_signals(self, request: SearchRequest, where: MemoryFilter) -> SignalResults:
        """What every signal says of a query, however it will be weighed."""

        async def as_they_are(results: SignalResults, _snapshot: Snapshot) -> SignalResults:
            return results

        query = replace(
            self._signal_query(request, where),
            signals=frozenset(SIGNALS),
            lexical_limit=self.policy.ranking_window // LEXICAL_DIVISOR,
            weighs_evidence=True,
        )
        return await self._asked(query, as_they_are)

    def with_policy(self, policy: RankingPolicy) -> "Search":
        """The same signals ranked by other numbers."""
        return Search(self._storage, self.inputs, policy, self._now, self._seconds, self.zone, self._reranking)

    def _ranked_page(
        self, request: SearchRequest, where: MemoryFilter, vector: QueryVector | None = None
    ) -> Coroutine[Any, Any, Page]:
        """Without its hits, if they take long to make."""
        now = self._now()

        async def rank_and_page(results: SignalResults, snapshot: Snapshot) -> Page:
            return await self._page(request, where, await self.rank(request, where, results, snapshot, now), snapshot)

        page = self._asked(self._signal_query(request, where), rank_and_page, vector=vector)
        reranking = self._reranking
        return (
            page if reranking is None or not reranking.is_wanted(request) else reranking.reranked(page, request.query)
        )

    # prepare and ask

    async def _asked(
        self,
        query: SignalQuery,
        then: Callable[[SignalResults, Snapshot], Coroutine[Any, Any, T]],
        *,
        part_by_part: bool = False,
        vector: QueryVector | None = None,
    ) -> T:
        """Prepared, asked of the store, and once more if it had changed meanwhile."""
        inputs = await self.inputs.prepare(query, vector)
        refused = False

        async def ask_then(snapshot: Snapshot) -> T:
            nonlocal refused
            if query.with_history:
                snapshot = Snapshot(WithHistory(snapshot.reads), snapshot.start)
            slowed_by = self._storage.degraded  # it may be over before all have answered
            results = await ask(query, inputs, snapshot)
            refused = results.of(VECTOR).refused
            results = replace(results, slowed_by=slowed_by or self._storage.degraded)
            results.require_an_answer()
            return await then(results, snapshot)

        try:
            try:
                return await self._storage.search(ask_then, part_by_part=part_by_part)
            except Outdated as outdated:
                inputs = await self.inputs.prepare_anew(query, inputs, outdated.memories)
                return await self._storage.search(ask_then, part_by_part=part_by_part)
        finally:
            if refused:
                self.inputs.forget_vector(query.text)

    def _signal_query(self, request: SearchRequest, where: MemoryFilter) -> SignalQuery:
        alpha = self._given_alpha(request)
        signals = chosen_signals(request.mode, alpha)
        window = self.policy.ranking_window
        beside_vectors = VECTOR in signals and request.min_similarity is None
        return SignalQuery(
            text=request.query,
            where=where,
            extract_tags=request.tags is None,
            min_similarity=request.min_similarity,
            signals=signals,
            vector_limit=window,
            lexical_limit=window // LEXICAL_DIVISOR if beside_vectors else window,
            weighs_evidence=alpha is None and self.policy.fusion == "score",
            every_tag=self.policy.ranking == "classic",
            time=self._time_of(request, BALANCED_ALPHA if alpha is None else alpha),
            with_history=request.include_superseded or request.as_of is not None,
            expands=self.policy.query_expansion,
        )

    def _given_alpha(self, request: SearchRequest) -> float | None:
        """Alpha as far as it was chosen; None leaves it to the query."""
        if request.mode != "hybrid":
            return 1.0 if request.mode == "semantic" else 0.0
        return self.policy.hybrid_alpha if request.alpha is None else request.alpha

    # rank

    async def rank(
        self, request: SearchRequest, where: MemoryFilter, results: SignalResults, snapshot: Snapshot, now: int
    ) -> Ranking:
        """Fuse what the signals answered, and bring in neighbours that none of them found."""
        alpha = self._given_alpha(request)
        prior = evidence = None
        if alpha is None:
            prior, evidence = alpha_for_size(results.corpus_size, self.policy), results.evidence
            alpha = self._alpha_of(results, evidence, prior)
        weights = signal_weights(request.mode, alpha, self.policy)
        alone = stands_alone(weights)
        time = results.time if self.policy.query_dates and not alone else None
        policy, pool = self.policy, Pool.of({name: result.candidates for name, result in results.by_signal.items()})
        fused = self.fuse(pool, alpha, request.mode, now, time)
        if pool.everyone.sessions is not None and request.min_similarity is None and neighbour_share(weights, policy):
            lacking = missing_neighbours(fused.pool.take(fused.order[:LEADING]), fused.pool)
            if lacking:
                found = await ask_neighbours(lacking, where, snapshot.reads)
                results = replace(results, neighbours=found)
                known, pool = len(pool.everyone), pool.joined_by(NEIGHBOUR, found.candidates)
                if len(pool.everyone) > known:  # the others had their boosts before
                    fused = self.fuse(pool, alpha, request.mode, now, time)
        if links_count(weights, self.policy):
            joins = request.min_similarity is None
            links = await ask_links(fused, where, self.policy, snapshot.reads, brings_in=joins)
            if links is not None:
                results = replace(results, links=links)
            if isinstance(links, Links):
                pool = pool.joined_by(GRAPH, links.candidates)
                fused = self.fuse(pool, alpha, request.mode, now, time, links)
        before, factors = None, dict[str, float]()
        # An update comes before what it updates where age counts, and the past is not asked for.
        asks_for_past = time is not None and time.wanted != "newest"
        by_age = policy.recency == "tiers" or policy.recency_decay > 0
        if policy.fusion == "score" and by_age and not alone and not asks_for_past:
            before = fused
            possible = possible_updates(fused)
            if possible:
                fused, factors = lift_updates(fused, await snapshot.reads.get_many(where.namespace, possible))
        off = ("rerank_off",) if request.rerank and self._reranking is None else ()
        return Ranking(results, pool, alpha, fused, evidence, time, prior, factors, before, not_reranked=off)

    def fuse(
        self,
        pool: Mapping[str, Sequence[Candidate]],
        alpha: float,
        mode: SearchMode,
        now: int,
        time: TimeHint | None = None,
        links: Links | None = None,
    ) -> Fused:
        policy, weights = self.policy, signal_weights(mode, alpha, self.policy)
        if policy.fusion == "rrf":
            fused = fuse_rrf(pool, weights, policy.rrf_k, links)
        else:
            fused = fuse_scores(pool, weights, neighbour_share(weights, policy), links)
        if stands_alone(weights) and not (policy.ranking == "classic" and TAG in weights):
            return fused  # asked for one signal alone: its order stays exactly as it is
        if time is not None:
            floor = policy.date_floor if time.wanted == "period" else policy.newest_floor
            return apply_time_hint(fused, time, now, floor)
        if policy.recency == "tiers":
            return apply_recency_tiers(fused, now)
        return apply_recency_decay(fused, policy.recency_decay, now, policy.recency_floor)

    def _time_of(self, request: SearchRequest, alpha: float) -> TimeHint | None:
        """The time that the query names, where the order of memories may follow it."""
        if not self.policy.query_dates or stands_alone(signal_weights(request.mode, alpha, self.policy)):
            return None
        return time_in(request.query, from_microseconds(self._now(), self.zone))

    def _alpha_of(self, results: SignalResults, evidence: Evidence | None, prior: float) -> float:
        tags, covered = results.of(TAG), results.of(VECTOR).covered
        if self.policy.fusion == "rrf":
            return get_adaptive_alpha(results.corpus_size, len(tags.terms), self.policy)
        if evidence is None:  # nothing to weigh where a signal is missing
            return alpha_of_covered(BALANCED_ALPHA, covered)
        named = tags.candidates[0].score if tags.candidates else 0.0
        alpha = alpha_from_evidence(evidence, prior, self.policy.vector_trust, names_tag=bool(tags.candidates))
        return limit_alpha_for_named_tags(alpha_of_covered(alpha, covered), named)

    # page

    async def _page(self, request: SearchRequest, where: MemoryFilter, ranking: Ranking, snapshot: Snapshot) -> Page:
        ranked = len(ranking.fused)
        confidence = ranking.results.confidence if ranked else "none"
        cut = ranked > 0 and not is_at_least(confidence, request.min_confidence)
        paging = Paging(page=request.page, page_size=request.page_size, total=0 if cut else ranked)
        max_chunks = self.policy.max_chunks_per_document
        reranking = self._reranking
        least = paging.page - 1 if max_chunks else paging.offset  # before this page, where pages may not be full
        if reranking is not None and not (paging.total > least and reranking.is_wanted(request)):
            reranking = None
        # Those that are re-ranked change places: all are kept until it is known who is on the page.
        first = reranking.top_n if reranking else 0
        fused = ranking.fused[:0] if cut else ranking.fused
        page, memories, paging = await read_page(fused, paging, max_chunks, first, where, snapshot.reads)
        in_part = not request.full or reranking
        long = [each for each in memories if in_part and len(each.content) > MAX_PASSAGE_CHARS]
        vector, chunks = ranking.results.of(VECTOR).vector, UNKNOWN_SIMILARITIES
        if long and vector is not None:
            chunks = await ask_chunks(vector, long, snapshot.reads)
        # Snippets read every word: of short texts they are made before another thread would start.
        takes_long = bool(long) or sum([len(memory.content) for memory in memories]) > LONG_PAGE_CHARS
        hits = None if takes_long or reranking else self._hits(request, ranking, page, memories, chunks)
        return Page(ranking, paging, page, memories, chunks, hits, confidence, cut, max_chunks)

    def _hits(
        self,
        request: SearchRequest,
        ranking: Ranking,
        page: Fused,
        memories: Sequence[Memory],
        chunks: ChunkSimilarities,
    ) -> tuple[Hit, ...]:
        """Of those that are there: one that was deleted since the signals answered is not."""
        if not memories:
            return ()
        candidates = {candidate.content_hash: candidate for candidate in page}
        best, hits = ranking.fused.best_score, list[Hit]()
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
                    debug=self._breakdown(ranking, memory, candidate) if request.debug else None,
                    passages=passages_of(memory, request.query, chunks.by_id.get(memory.content_hash, ()))
                    if len(memory.content) > MAX_PASSAGE_CHARS and not request.full
                    else (),
                )
            )
        return tuple(hits)

    def _breakdown(self, ranking: Ranking, memory: Memory, candidate: FusedCandidate) -> ScoreBreakdown:
        wanted = ranking.results.of(TAG).terms if TAG in candidate.contributions else ()
        return ScoreBreakdown(
            contributions=candidate.contributions,
            tag_matches=tuple(tag for tag in memory.tags if fold_tag(tag) in wanted),
            recency_factor=1.0 if ranking.time else candidate.recency_factor,
            time_factor=candidate.recency_factor if ranking.time else 1.0,
            update_factor=ranking.update_factors.get(candidate.content_hash, 1.0),
            final_score=candidate.score,
            rerank_weight=ranking.rerank_weight,
            alpha_prior=ranking.prior,
            alpha_used=ranking.alpha,
            ranking=self.policy.ranking,
            fusion=self.policy.fusion,
            expanded_with=ranking.results.of(VECTOR).terms,
        )
