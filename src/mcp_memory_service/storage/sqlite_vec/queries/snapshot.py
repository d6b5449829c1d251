"""What a search asks, answered from one snapshot of the store by the thread that has it: nothing is waited for."""

from collections.abc import Callable, Mapping, Sequence

import apsw

from ....models import (
    Candidate,
    CorpusStatistics,
    Linked,
    Memory,
    MemoryFilter,
    QueryTerms,
    TextMatches,
    Vector,
    VectorSample,
    is_main,
)
from ...vectors import checked_vector
from ..index import IndexReader
from . import links, reads, text_search

_UNASKED = (None,) * 6


class SnapshotReads:
    """From the index if there is a reader of it, else from the rows."""

    def __init__(
        self,
        connection: apsw.Connection,
        index: IndexReader | None,
        dimension_of: Callable[[apsw.Connection], int | None],
    ) -> None:
        self._connection = connection
        self._index = index
        self._dimension_of = dimension_of

    def _index_for(self, where: MemoryFilter, *, of_corpus: bool = False) -> IndexReader | None:
        """It knows namespace, tags, types, kinds, times and expiry, and has nothing of histories and trash. The corpus
        of a filter is the same at any moment."""
        as_of = None if of_corpus else where.as_of
        unknown = (where.scope, where.session, where.source, where.pinned, where.expired_by, as_of)
        if where.metadata or unknown != _UNASKED or where.ended_before is not None:
            return None
        return self._index if is_main(where.namespace) else None

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        index = self._index_for(where)
        if index is None:
            query = checked_vector(query_vector, self._dimension_of(self._connection))
            return reads.retrieve(self._connection, query, limit, where)
        query = checked_vector(query_vector, index.dimension)
        return index.retrieve(self._connection, query, limit, where)

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        index = self._index_for(where)
        if index is None:
            return reads.search_by_tag(self._connection, weights, limit, where)
        return index.search_by_tag(weights, limit, where)

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        index = self._index_for(where)
        if index is None:
            found = text_search.search_by_text(self._connection, terms, limit, where)
            return TextMatches(found, text_search.words_of_best(self._connection, found, terms, where.namespace))
        found = index.search_by_text(self._connection, terms, limit, where)
        return TextMatches(found, index.words_of_best(self._connection, found, terms, where.namespace))

    async def corpus_statistics(
        self, where: MemoryFilter, words: Sequence[str], tags: Sequence[str]
    ) -> CorpusStatistics:
        index = self._index_for(where, of_corpus=True)
        if index is None:
            return text_search.corpus_statistics(self._connection, where, words, tags)
        return index.corpus_statistics(where, words, tags)

    async def sample_vectors(self, where: MemoryFilter, limit: int) -> VectorSample:
        index = self._index_for(where, of_corpus=True)
        if index is None:
            return reads.sample_vectors(self._connection, where, limit)
        memory_ids, drawn_from, waiting = index.sample(where, limit)
        return reads.sample_of(self._connection, memory_ids, limit, drawn_from, waiting)

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        return reads.adjacent(self._connection, content_hashes, limit, where)

    async def linked(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Linked]:
        return links.linked(self._connection, content_hashes, limit, where)

    async def chunk_similarities(
        self, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
    ) -> dict[str, list[float]]:
        query = checked_vector(query_vector, self._dimension_of(self._connection))
        return reads.chunk_similarities(self._connection, query, namespace, content_hashes)

    async def tags_version(self, namespace: str) -> int:
        return reads.tags_version(self._connection, namespace)

    async def count_all_memories(self, namespace: str) -> int:
        if self._index is None or not is_main(namespace):
            return reads.count_all_memories(self._connection, namespace)
        return self._index.count_all_memories(namespace)

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        return reads.get_many(self._connection, namespace, content_hashes)
