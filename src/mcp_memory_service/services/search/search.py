"""The search pipeline: ask the signals, fuse once, sort once, cut the page.

What runs inside a search awaits nothing but what it asks of the store there (`Store.search`)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...hybrid_search import (
    BALANCED_ALPHA,
    KEYWORD,
    NEIGHBOUR,
    TAG,
    VECTOR,
    Evidence,
    Fused,
    FusedCandidate,
    HybridScoreDebug,
    Pool,
    RankingPolicy,
    alpha_from_evidence,
    apply_recency_decay,
    debug_of,
    fuse_rrf,
    fuse_scores,
    get_adaptive_alpha,
    limit_alpha_for_named_tags,
    missing_neighbours,
    snippet,
)
from ...models import Candidate, Memory, MemoryFilter, SearchMode, fold_tag
from ...storage.ports import SearchReads, Store
from .results import Hit, Paging, RetrievalResult, SignalRank
from .searching import Searching, Use
from .signals import Answers, Question, neighbours

# Beside vectors, which rank a whole window, words and tags name a quarter as many: what they place further down could
# add less than a fifth of a first place's vote, and would make a search at 10,000 memories about 15 % slower.
LEXICAL_DIVISOR = 4

# So many of the best bring in neighbours that no signal found; further down a lent half reaches no first page.
LEADING = 20
MAX_NEIGHBOURS = 100

# So much is cut into snippets in a few milliseconds.
LONG_PAGE_CHARS = 20_000

ALL_SIGNALS = frozenset({VECTOR, TAG, KEYWORD})


@dataclass(frozen=True, slots=True)
class RetrievalRequest:
    query: str
    where: MemoryFilter
    page: int
    page_size: int
    extract_tags: bool
    min_similarity: float | None
    alpha: float | None
    mode: SearchMode
    debug: bool


@dataclass(frozen=True, slots=True)
class _Page:
    ranking: "Ranking"
    paging: Paging
    candidates: Fused
    memories: Sequence[Memory]
    hits: tuple[Hit, ...] | None
    """None if they take long to make."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """All ranked memories of a search, before a page is cut."""

    answers: Answers
    votes: Mapping[str, Sequence[Candidate]]
    alpha: float
    fused: Fused
    evidence: Evidence | None = None
    """What alpha was chosen by; None if it was given, or chosen by the size of the corpus."""


class Retrieval:
    """`now_microseconds` dates the memories, `monotonic_seconds` measures the search."""

    def __init__(
        self,
        storage: Store,
        searching: Searching,
        policy: RankingPolicy,
        now_microseconds: Callable[[], int],
        monotonic_seconds: Callable[[], float],
    ) -> None:
        self._storage = storage
        self._searching = searching
        self._policy = policy
        self._now = now_microseconds
        self._seconds = monotonic_seconds

    def with_policy(self, policy: RankingPolicy) -> "Retrieval":
        """The same signals ranked by other numbers."""
        return Retrieval(self._storage, self._searching, policy, self._now, self._seconds)

    async def ask_all(self, request: RetrievalRequest) -> Answers:
        """What every signal says of a query, however it will be weighed."""

        async def answers_alone(answers: Answers, _reads: SearchReads) -> Answers:
            return answers

        window = self._policy.ranking_window
        question = _question(request, ALL_SIGNALS, window, window // LEXICAL_DIVISOR, weighs_evidence=True)
        return await self._searching.search(question, answers_alone)

    async def run(self, request: RetrievalRequest) -> RetrievalResult:
        started = self._seconds()

        async def page(answers: Answers, reads: SearchReads) -> _Page:
            return await self._page(request, await self._ranked(request, answers, reads), reads)

        found = await self._searching.search(self._usual_question(request), page)
        hits, ranking = found.hits, found.ranking
        if hits is None:  # neither in the event loop, nor while the store is held
            hits = await asyncio.to_thread(self._hits, request, ranking, found.candidates, found.memories)
        return RetrievalResult(
            results=hits,
            query=request.query,
            mode=request.mode,
            paging=found.paging,
            alpha_used=ranking.alpha,
            keywords=ranking.answers.tag.keywords,
            degraded=ranking.answers.degraded,
            took_ms=round((self._seconds() - started) * 1000, 3),
            evidence=ranking.evidence,
        )

    async def answer(self, request: RetrievalRequest) -> Ranking:
        """The ranking of which a page is the answer."""
        return await self._searching.search(self._usual_question(request), self._ranking_of(request))

    async def rank(self, request: RetrievalRequest, vector_limit: int, lexical_limit: int) -> Ranking:
        """Every memory that a signal found among its best, in the order of the answer."""
        question = self._question(request, vector_limit, lexical_limit)
        return await self._searching.search(question, self._ranking_of(request), part_by_part=True)

    async def rank_answers(self, request: RetrievalRequest, answers: Answers) -> Ranking:
        """The ranking of what was answered before."""
        return await self._ranked(request, answers, self._storage)

    def _usual_question(self, request: RetrievalRequest) -> Question:
        window = self._policy.ranking_window
        beside_vectors = (
            VECTOR in _wanted_signals(request.mode, self._chosen_alpha(request)) and request.min_similarity is None
        )
        return self._question(request, window, window // LEXICAL_DIVISOR if beside_vectors else window)

    def _question(self, request: RetrievalRequest, vector_limit: int, lexical_limit: int) -> Question:
        chosen_alpha = self._chosen_alpha(request)
        wanted = _wanted_signals(request.mode, chosen_alpha)
        weighs = chosen_alpha is None and self._policy.fusion == "score"
        return _question(request, wanted, vector_limit, lexical_limit, weighs_evidence=weighs)

    def _ranking_of(self, request: RetrievalRequest) -> Use[Ranking]:
        return lambda answers, reads: self._ranked(request, answers, reads)

    async def _ranked(self, request: RetrievalRequest, answers: Answers, reads: SearchReads) -> Ranking:
        """Fuse what the signals answered, and bring in neighbours that none of them found."""
        chosen_alpha = self._chosen_alpha(request)
        alpha = self._adaptive_alpha(answers) if chosen_alpha is None else chosen_alpha
        evidence = answers.evidence if chosen_alpha is None else None
        weights = self.weights(alpha, request.mode)
        votes = Pool.of(answers.candidates)
        fused = self.fuse(votes, weights)
        if self._lends(weights) and request.min_similarity is None:
            lacking = missing_neighbours(fused.pool.take(fused.order[:LEADING]), fused.pool)
            if lacking:
                found = await neighbours(lacking, MAX_NEIGHBOURS, request.where, reads)
                answers = replace(answers, neighbour=found)
                known, votes = len(votes.everyone), votes.joined_by(NEIGHBOUR, found.candidates)
                if len(votes.everyone) > known:  # the others got what neighbours lend before
                    fused = self.fuse(votes, weights)
        return Ranking(answers, votes, alpha, fused, evidence)

    def weights(self, alpha: float, mode: SearchMode) -> dict[str, float]:
        """The weight of each signal; in a mode of one signal, and at the ends of alpha, one signal stands alone."""
        if mode == "keyword":
            return {KEYWORD: 1.0}
        if alpha in {0.0, 1.0}:
            return {TAG: 1.0 - alpha, VECTOR: alpha}
        return {
            VECTOR: alpha,
            TAG: (1.0 - alpha) * self._policy.tag_weight,
            KEYWORD: (1.0 - alpha) * self._policy.keyword_weight,
        }

    def fuse(self, votes: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float]) -> Fused:
        policy = self._policy
        if policy.fusion == "rrf":
            fused = fuse_rrf(votes, weights, policy.rrf_k)
        else:
            fused = fuse_scores(votes, weights, policy.neighbour_weight if self._lends(weights) else 0.0)
        if _stands_alone(weights):
            return fused  # asked for one signal alone: its order stays exactly as it is
        return apply_recency_decay(fused, policy.recency_decay, self._now(), policy.recency_floor)

    def _lends(self, weights: Mapping[str, float]) -> bool:
        """Whether neighbours lend: not among ranks, whose sums are too flat to share, nor for one signal alone."""
        return self._policy.fusion == "score" and self._policy.neighbour_weight > 0 and not _stands_alone(weights)

    def _chosen_alpha(self, request: RetrievalRequest) -> float | None:
        """Alpha as far as it was chosen; None leaves it to the corpus."""
        if request.mode == "semantic":
            return 1.0
        if request.mode == "keyword":
            return 0.0
        return self._policy.hybrid_alpha if request.alpha is None else request.alpha

    def _adaptive_alpha(self, answers: Answers) -> float:
        if self._policy.fusion == "rrf":
            return get_adaptive_alpha(answers.tag.corpus_size, len(answers.tag.keywords), self._policy)
        evidence = answers.evidence
        if evidence is None:  # nothing to weigh where a signal is missing
            return BALANCED_ALPHA
        named = answers.tag.candidates
        alpha = alpha_from_evidence(evidence, self._policy.vector_trust)
        return limit_alpha_for_named_tags(alpha, named[0].score if named else 0.0)

    async def _page(self, request: RetrievalRequest, ranking: Ranking, reads: SearchReads) -> _Page:
        paging = Paging(page=request.page, page_size=request.page_size, total=len(ranking.fused))
        page = ranking.fused[paging.offset : paging.offset + paging.page_size]
        memories = await reads.get_many(request.where.namespace, page.content_hashes) if page else []
        # Snippets read every word: of short texts they are made before another thread would start.
        is_long = sum(len(memory.content) for memory in memories) > LONG_PAGE_CHARS
        hits = None if is_long else self._hits(request, ranking, page, memories)
        return _Page(ranking, paging, page, memories, hits)

    def _hits(
        self, request: RetrievalRequest, ranking: Ranking, page: Fused, memories: Sequence[Memory]
    ) -> tuple[Hit, ...]:
        """Of those that are there: one that was deleted since the signals answered is not."""
        if not memories:
            return ()
        candidates = {candidate.content_hash: candidate for candidate in page}
        best = ranking.fused[0].score
        return tuple(self._hit(request, ranking, memory, candidates[memory.content_hash], best) for memory in memories)

    def _hit(
        self, request: RetrievalRequest, ranking: Ranking, memory: Memory, candidate: FusedCandidate, best: float
    ) -> Hit:
        vector = candidate.votes.get(VECTOR)
        return Hit(
            memory=memory,
            score=candidate.score / best if best else 1.0,
            similarity=vector.score if vector else None,
            provenance={name: SignalRank(vote.rank, vote.score) for name, vote in candidate.votes.items()},
            snippet=snippet(memory.content, request.query),
            debug=self._debug(ranking, memory, candidate) if request.debug else None,
        )

    def _debug(self, ranking: Ranking, memory: Memory, candidate: FusedCandidate) -> HybridScoreDebug:
        tags = [tag for tag in memory.tags if fold_tag(tag) in ranking.answers.tag.keywords]
        return debug_of(candidate, ranking.alpha, tags, self._policy.fusion)


def _question(
    request: RetrievalRequest,
    wanted: frozenset[str],
    vector_limit: int,
    lexical_limit: int,
    *,
    weighs_evidence: bool,
) -> Question:
    return Question(
        query=request.query,
        where=request.where,
        extract_tags=request.extract_tags,
        min_similarity=request.min_similarity,
        wanted=wanted,
        vector_limit=vector_limit,
        lexical_limit=lexical_limit,
        weighs_evidence=weighs_evidence,
    )


def _stands_alone(weights: Mapping[str, float]) -> bool:
    return sum(weight > 0 for weight in weights.values()) == 1


def _wanted_signals(mode: SearchMode, chosen_alpha: float | None) -> frozenset[str]:
    if mode == "keyword":
        return frozenset({KEYWORD})
    if chosen_alpha == 1:
        return frozenset({VECTOR})
    if chosen_alpha == 0:
        return frozenset({TAG})
    return ALL_SIGNALS
