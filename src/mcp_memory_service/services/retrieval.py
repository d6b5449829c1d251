"""The search pipeline: ask the signals in parallel, fuse once, sort once, cut the page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..hybrid_search import (
    KEYWORD,
    TAG,
    VECTOR,
    FusedCandidate,
    RankingPolicy,
    Vote,
    apply_recency_decay,
    debug_of,
    fuse_rrf,
    fuse_scores,
    get_adaptive_alpha,
    limit_alpha_for_specific_tags,
    limit_alpha_for_standing_out_words,
    snippet,
    split_by_strength,
    split_standing_out,
)
from ..models import Candidate, Memory, MemoryFilter, SearchMode, fold_tag
from ..storage.base import MemoryStorage
from .results import Hit, Paging, RetrievalResult, SignalRank
from .signals import Answers, Question, Signals

# Beside vectors, which rank a whole window, words and tags name a quarter as many: what they place further down could
# add less than a fifth of a first place's vote, and would make a search at 10,000 memories about 15 % slower.
LEXICAL_DIVISOR = 4


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
class Ranking:
    """All ranked memories of a search, before a page is cut."""

    answers: Answers
    votes: Mapping[str, Sequence[Candidate]]
    alpha: float
    fused: Sequence[FusedCandidate]


class Retrieval:
    """`now_microseconds` dates the memories, `monotonic_seconds` measures the search."""

    def __init__(
        self,
        storage: MemoryStorage,
        signals: Signals,
        policy: RankingPolicy,
        now_microseconds: Callable[[], int],
        monotonic_seconds: Callable[[], float],
    ) -> None:
        self._storage = storage
        self._signals = signals
        self._policy = policy
        self._now = now_microseconds
        self._seconds = monotonic_seconds

    async def run(self, request: RetrievalRequest) -> RetrievalResult:
        started = self._seconds()
        ranking = await self.answer(request)
        paging = Paging(page=request.page, page_size=request.page_size, total=len(ranking.fused))
        return RetrievalResult(
            results=await self._hits(request, ranking, paging),
            query=request.query,
            mode=request.mode,
            paging=paging,
            alpha_used=ranking.alpha,
            keywords=ranking.answers.tag.keywords,
            degraded=ranking.answers.degraded,
            took_ms=round((self._seconds() - started) * 1000, 3),
        )

    async def answer(self, request: RetrievalRequest) -> Ranking:
        """The ranking of which a page is the answer."""
        window = self._policy.ranking_window
        beside_vectors = (
            VECTOR in _wanted_signals(request.mode, self._chosen_alpha(request)) and request.min_similarity is None
        )
        return await self.rank(request, window, window // LEXICAL_DIVISOR if beside_vectors else window)

    async def rank(self, request: RetrievalRequest, vector_limit: int, lexical_limit: int) -> Ranking:
        """Every memory that a signal found among its best, in the order of the answer."""
        chosen_alpha = self._chosen_alpha(request)
        wanted = _wanted_signals(request.mode, chosen_alpha)
        answers = await self._signals.ask(
            Question(
                query=request.query,
                where=request.where,
                extract_tags=request.extract_tags,
                min_similarity=request.min_similarity,
                wanted=wanted,
                vector_limit=vector_limit,
                lexical_limit=lexical_limit,
            )
        )
        answers.require_an_answer()
        votes, silent = answers.candidates, dict[str, Sequence[Candidate]]()
        if VECTOR in wanted and not answers.vector.failed:  # without vectors all that is found votes
            votes[TAG], silent[TAG] = split_by_strength(votes[TAG])
            standing_out, others = split_standing_out(votes[KEYWORD])
            if standing_out:
                votes[KEYWORD], silent[KEYWORD] = standing_out, others
        if chosen_alpha is None:
            chosen_alpha = self._adaptive_alpha(answers, len(votes[TAG]), standing_out=KEYWORD in silent)
        fused = self.fuse(votes, self.weights(chosen_alpha, request.mode))
        return Ranking(answers, votes, chosen_alpha, fused + _without_vote(votes, silent, fused))

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

    def fuse(self, votes: Mapping[str, Sequence[Candidate]], weights: Mapping[str, float]) -> list[FusedCandidate]:
        policy = self._policy
        by_rank = policy.fusion == "rrf"
        fused = fuse_rrf(votes, weights, policy.rrf_k) if by_rank else fuse_scores(votes, weights)
        if sum(weight > 0 for weight in weights.values()) == 1:
            return fused  # asked for one signal alone: its order stays exactly as it is
        return apply_recency_decay(fused, policy.recency_decay, self._now(), policy.recency_floor)

    def _chosen_alpha(self, request: RetrievalRequest) -> float | None:
        """Alpha as far as it was chosen; None leaves it to the corpus."""
        if request.mode == "semantic":
            return 1.0
        if request.mode == "keyword":
            return 0.0
        return self._policy.hybrid_alpha if request.alpha is None else request.alpha

    def _adaptive_alpha(self, answers: Answers, tag_votes: int, *, standing_out: bool) -> float:
        tag = answers.tag
        alpha = get_adaptive_alpha(tag.corpus_size, len(tag.keywords), self._policy)
        # Where many carry a tag its list may have been cut: it is then as common as its count says.
        is_cut = tag_votes >= self._policy.ranking_window // LEXICAL_DIVISOR
        carriers = max(tag_votes, tag.most_carriers) if is_cut else tag_votes
        alpha = limit_alpha_for_specific_tags(alpha, carriers, tag.corpus_size)
        return limit_alpha_for_standing_out_words(alpha, standing_out)

    async def _hits(self, request: RetrievalRequest, ranking: Ranking, paging: Paging) -> tuple[Hit, ...]:
        page = ranking.fused[paging.offset : paging.offset + paging.page_size]
        if not page:
            return ()
        found = await self._storage.get_many(request.where.namespace, [candidate.content_hash for candidate in page])
        candidates = {candidate.content_hash: candidate for candidate in page}
        # One that was deleted since the signals answered is not among the found.
        return tuple(self._hit(request, ranking, memory, candidates[memory.content_hash]) for memory in found)

    def _hit(self, request: RetrievalRequest, ranking: Ranking, memory: Memory, candidate: FusedCandidate) -> Hit:
        best = ranking.fused[0].score
        vector = candidate.votes.get(VECTOR)
        tags = [tag for tag in memory.tags if fold_tag(tag) in ranking.answers.tag.keywords]
        return Hit(
            memory=memory,
            score=candidate.score / best if best else 1.0,
            similarity=vector.raw_score if vector else None,
            provenance={name: SignalRank(vote.rank, vote.raw_score) for name, vote in candidate.votes.items()},
            snippet=snippet(memory.content, request.query),
            debug=debug_of(candidate, ranking.alpha, tags, self._policy.fusion) if request.debug else None,
        )


def _without_vote(
    votes: Mapping[str, Sequence[Candidate]],
    silent: Mapping[str, Sequence[Candidate]],
    fused: Sequence[FusedCandidate],
) -> list[FusedCandidate]:
    """Weak matches that no signal voted for: found all the same, so they come last, with their place in the signal."""
    ranked = {candidate.content_hash for candidate in fused}
    last: dict[str, FusedCandidate] = {}
    for name, matches in silent.items():
        for place, found in enumerate(matches, start=len(votes[name]) + 1):
            if found.content_hash not in ranked:
                vote = {name: Vote(place, found.raw_score, 0.0)}
                last.setdefault(found.content_hash, FusedCandidate(found.content_hash, found.created_at, 0.0, vote))
    return list(last.values())


def _wanted_signals(mode: SearchMode, chosen_alpha: float | None) -> frozenset[str]:
    if mode == "keyword":
        return frozenset({KEYWORD})
    if chosen_alpha == 1:
        return frozenset({VECTOR})
    if chosen_alpha == 0:
        return frozenset({TAG})
    return frozenset({VECTOR, TAG, KEYWORD})
