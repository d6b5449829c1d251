"""Memories and code in one ranking: two searches, each by the statistics of its own namespace, and their scores.

BM25 scores of two corpora say nothing about each other, and the best of each is scaled to 1. What can be compared is
how sure each search is that it found an answer (docs/adr/0027).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...hybrid_search import Fused, Vote, certainty
from ...hybrid_search.columns.candidates import Candidates, Places, Scores
from ...hybrid_search.signals import KEYWORD, VECTOR
from ...models import Memory, MemoryFilter, SearchRequest, Vector, history_of
from ...storage.ports import SearchReads, Snapshot
from .freshening import weighed
from .ranking import Page, Ranking
from .results import SearchResult
from .search import Search
from .signals import SignalResults

UNKNOWN_CERTAINTY = 0.5


class Part(NamedTuple):
    """A search in one of the two namespaces."""

    search: Search
    request: SearchRequest
    where: MemoryFilter


async def search_both(own: Part, of_code: Part) -> SearchResult:
    """One page of a ranking of both; each is ranked as if it were searched alone."""
    search, request, where = own
    started, now = search.seconds(), search.now()
    rankings = await asyncio.gather(
        *[part.search.first_stage(part.request, part.where, now) for part in (own, of_code)]
    )
    ranking = merged_rankings(*rankings)
    past = (history_of(where.namespace),) if request.include_superseded or request.as_of is not None else ()

    async def paged(snapshot: Snapshot) -> Page:
        return await search.page(request, where, ranking, _Both(snapshot.reads, of_code.where.namespace, past), True)

    page = await weighed(search.reranked(request, search.storage.search(paged)), request, search.policy, now)
    return await search.answer(request, where, page, started)


def merged_rankings(own: Ranking, of_code: Ranking) -> Ranking:
    """In the order of `score · certainty`; what is of one kind keeps its order. Where one of them found nothing, the
    other is as it would be alone."""
    factors = (1.0, 1.0)
    if len(own.fused) and len(of_code.fused):
        factors = (_certainty(own.results), _certainty(of_code.results))
    fused = merged(own.fused, of_code.fused, factors)
    return replace(
        own,
        fused=fused,
        of_code=of_code,
        kind_factors=factors,
        before_updates=None,
        update_factors={**own.update_factors, **of_code.update_factors},
    )


def merged(one: Fused, other: Fused, factors: tuple[float, float]) -> Fused:
    """Both, with their scores times their factors; no memory is in both."""
    size = one.pool.scores.size
    parts = [
        fused.pool.with_scores(fused.pool.scores * factor) for fused, factor in zip((one, other), factors, strict=True)
    ]

    def votes_at(places: Places) -> list[Mapping[str, Vote]]:
        votes: list[Mapping[str, Vote]] = [{}] * len(places)
        for fused, offset, mine in ((one, 0, places < size), (other, size, places >= size)):
            (rows,) = mine.nonzero()
            for row, found in zip(rows.tolist(), fused.votes_at(places[rows] - offset), strict=True):
                votes[row] = found
        return votes

    members = np.concatenate([one.order, other.order + size])
    recency = np.concatenate([_recency_of(one), _recency_of(other)])
    return Fused(Candidates.joined(parts), members, votes_at, recency)


def _recency_of(fused: Fused) -> Scores:
    return np.ones(fused.pool.scores.size) if fused.recency_factors is None else fused.recency_factors


def _certainty(results: SignalResults) -> float:
    found = certainty(results.of(VECTOR).standing, results.of(KEYWORD).coverage)
    return UNKNOWN_CERTAINTY if found is None else found


@dataclass(frozen=True, slots=True)
class _Both:
    """Reads of a page of both: each memory from where it is kept."""

    reads: SearchReads
    code: str
    past: tuple[str, ...]
    """Where superseded memories are, if they are asked for."""

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        found: dict[str, Memory] = {}
        for place in (namespace, self.code, *self.past):
            missing = [each for each in content_hashes if each not in found]
            memories = await self.reads.get_many(place, missing) if missing else []
            own = [replace(each, namespace=namespace) for each in memories] if place in self.past else memories
            found |= {memory.content_hash: memory for memory in own}
        return [found[each] for each in content_hashes if each in found]

    async def chunk_similarities(
        self, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
    ) -> dict[str, list[float]]:
        past = [await self.reads.chunk_similarities(query_vector, each, content_hashes) for each in self.past]
        here = await self.reads.chunk_similarities(query_vector, namespace, content_hashes)
        return {each: similarities for found in (*past, here) for each, similarities in found.items()}
