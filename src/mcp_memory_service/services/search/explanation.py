"""The answer to "why this, why not that": one memory followed through one search."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...errors import MemoryNotFound
from ...hybrid_search import VECTOR, FusedCandidate, Links, Vote
from ...hybrid_search.columns.candidates import Candidates
from ...hybrid_search.explain import failed_filters, nearest_alpha, place_of
from ...models import MemoryFilter, SearchRequest
from ...storage.ports import Store
from .results import Ahead, Explanation
from .search import Ranking, Search

SHOWN_AHEAD = 5


class Explainer:
    def __init__(self, storage: Store, search: Search, now: Callable[[], int]) -> None:
        self._storage = storage
        self._search = search
        self._now = now

    async def explain(self, request: SearchRequest, where: MemoryFilter, content_hash: str) -> Explanation:
        namespace = where.namespace
        found = await self._storage.get_many(namespace, [content_hash])
        if not found:
            raise MemoryNotFound(content_hash)
        (memory,) = found
        dropped = failed_filters(memory, where)
        answer = await self._search.ranking(request, where)
        whole = await self._search.ranking(
            replace(request, min_similarity=None, alpha=_alpha_of(request, answer)),
            MemoryFilter(namespace=namespace) if dropped else where,
            depth=await self._storage.count_all_memories(namespace),
        )
        rank = place_of(content_hash, answer.fused)
        before = place_of(content_hash, answer.first_stage) if answer.first_stage else None
        followed = _candidate(content_hash, answer.fused if rank else whole.fused)
        return Explanation(
            memory=memory,
            request=request,
            rank=rank,
            total=len(answer.fused),
            filtered_by=tuple(dropped) + _similarity_filter(request, whole, content_hash, rank),
            signals=_found_by(content_hash, whole) | _votes(content_hash, answer.fused),
            recency_factor=followed.recency_factor if followed and not answer.time else 1.0,
            time_factor=followed.recency_factor if followed and answer.time else 1.0,
            final_score=followed.score if followed else 0.0,
            alpha_used=answer.alpha,
            outranked_by=await self._ahead(namespace, answer.fused, rank),
            alpha_for_first_page=await self._alpha_for_first_page(request, answer, content_hash, before or rank),
            degraded=answer.degraded,
            evidence=answer.evidence,
            time=answer.time,
            update_factor=(answer if rank else whole).update_factors.get(content_hash, 1.0),
            rank_before=before,
            rerank_weight=answer.rerank_weight if rank else 0.0,
            expanded_with=answer.results.of(VECTOR).terms,
        )

    async def _alpha_for_first_page(
        self, request: SearchRequest, answer: Ranking, content_hash: str, rank: int | None
    ) -> float | None:
        if request.mode != "hybrid" or (rank is not None and rank <= request.page_size):
            return None
        now, links = self._now(), answer.results.links
        # A hundred fusions: off the event loop.
        return await asyncio.to_thread(
            nearest_alpha,
            content_hash,
            answer.alpha,
            request.page_size,
            lambda alpha: self._search.fuse(
                answer.pool, alpha, request.mode, now, answer.time, links if isinstance(links, Links) else None
            ),
        )

    async def _ahead(self, namespace: str, fused: Sequence[FusedCandidate], rank: int | None) -> tuple[Ahead, ...]:
        before = fused[: len(fused) if rank is None else rank - 1][:SHOWN_AHEAD]
        memories = await self._storage.get_many(namespace, [candidate.content_hash for candidate in before])
        places = {candidate.content_hash: (place, candidate) for place, candidate in enumerate(before, start=1)}
        return tuple(
            Ahead(memory, places[memory.content_hash][0], places[memory.content_hash][1].contributions)
            for memory in memories
        )


def _alpha_of(request: SearchRequest, answer: Ranking) -> float | None:
    """The alpha of the answer, so that both rankings are weighed alike."""
    return answer.alpha if request.mode == "hybrid" else None


def _candidate(content_hash: str, fused: Sequence[FusedCandidate]) -> FusedCandidate | None:
    place = place_of(content_hash, fused)
    return None if place is None else fused[place - 1]


def _found_by(content_hash: str, ranking: Ranking) -> dict[str, Vote]:
    """What every signal says that found the memory, also one whose weight is 0 in this search."""
    found = {
        name: Vote(place + 1, result.candidates[place].score, 0.0)
        for name, result in ranking.results.by_signal.items()
        for place, listed in enumerate(Candidates.of(result.candidates).content_hashes)
        if listed == content_hash
    }
    return found | _votes(content_hash, ranking.fused)


def _votes(content_hash: str, fused: Sequence[FusedCandidate]) -> dict[str, Vote]:
    candidate = _candidate(content_hash, fused)
    return dict(candidate.contributions) if candidate else {}


def _similarity_filter(request: SearchRequest, whole: Ranking, content_hash: str, rank: int | None) -> tuple[str, ...]:
    """`min_similarity` if that alone keeps the memory out."""
    vote = _votes(content_hash, whole.fused).get("vector")
    least = request.min_similarity
    return ("min_similarity",) if rank is None and vote and least is not None and vote.score < least else ()
