"""A search that also sees what was superseded: the history of the namespace is asked beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...models import (
    Candidate,
    CorpusStatistics,
    Linked,
    Memory,
    MemoryFilter,
    QueryTerms,
    TextMatches,
    Vector,
    history_of,
)
from ...storage.ports import SearchReads


class WithHistory:
    """Each list is that of both, best first. Words are as rare, and texts as long on average, as they are in the one of
    the two that a memory is in, within the filter. Statistics and samples are those of the filter in the namespace as
    it is now, whatever moment is asked for: what it holds was mostly there then, and is counted and kept anyway."""

    def __init__(self, reads: SearchReads) -> None:
        self._reads = reads
        self._live: set[str] = set()
        self._past: set[str] = set()
        """Where memories were found: one that is in both may pass the filter in one of them only."""

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        live = await self._reads.retrieve(query_vector, limit, where)
        return self._merged(live, await self._reads.retrieve(query_vector, limit, _past(where)), limit)

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        live = await self._reads.search_by_tag(weights, limit, where)
        return self._merged(live, await self._reads.search_by_tag(weights, limit, _past(where)), limit)

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        live = await self._reads.search_by_text(terms, limit, where)
        past = await self._reads.search_by_text(terms, limit, _past(where))
        found = self._merged(live.candidates, past.candidates, limit)
        leads = bool(live.candidates) and found[0] == live.candidates[0]
        return TextMatches(found, live.best_has if leads else past.best_has)

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        return await self._reads.adjacent(content_hashes, limit, where)

    async def linked(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Linked]:
        return await self._reads.linked(content_hashes, limit, where)

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        """Each as it was found; neighbours are of the namespace."""
        superseded = self._past - self._live
        live = await self._reads.get_many(namespace, [each for each in content_hashes if each not in superseded])
        ids = [each for each in content_hashes if each in superseded]
        past = await self._reads.get_many(history_of(namespace), ids) if ids else []
        found = {memory.content_hash: replace(memory, namespace=namespace) for memory in (*live, *past)}
        return [found[each] for each in content_hashes if each in found]

    async def chunk_similarities(
        self, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
    ) -> dict[str, list[float]]:
        past = await self._reads.chunk_similarities(query_vector, history_of(namespace), content_hashes)
        return past | await self._reads.chunk_similarities(query_vector, namespace, content_hashes)

    def _merged(self, live: Sequence[Candidate], past: Sequence[Candidate], limit: int) -> Sequence[Candidate]:
        """Of a text that both have, the one that holds now."""
        self._live.update(candidate.content_hash for candidate in live)
        if not past:
            return live
        self._past.update(candidate.content_hash for candidate in past)
        by_id = {candidate.content_hash: candidate for candidate in (*past, *live)}
        return sorted(by_id.values(), key=lambda each: (-each.score, -each.created_at, each.content_hash))[:limit]

    async def corpus_statistics(
        self, where: MemoryFilter, words: Sequence[str], tags: Sequence[str]
    ) -> CorpusStatistics:
        return await self._reads.corpus_statistics(where, words, tags)

    async def tags_version(self, namespace: str) -> int:
        return await self._reads.tags_version(namespace)

    async def count_all_memories(self, namespace: str) -> int:
        return await self._reads.count_all_memories(namespace)


def _past(where: MemoryFilter) -> MemoryFilter:
    return replace(where, namespace=history_of(where.namespace))
