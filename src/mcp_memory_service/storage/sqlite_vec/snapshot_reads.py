"""What a search asks, answered from one snapshot of the store by the thread that has it: nothing is waited for."""

from collections.abc import Callable, Mapping, Sequence

import apsw

from ...models import Candidate, Memory, MemoryFilter, QueryTerms, TextMatches, Vector
from ..vector_check import checked_vector
from . import indexed_reads, reads
from .search_index import IndexView, searching


class SnapshotReads:
    """From the index if there is a view of it, else from the rows."""

    def __init__(
        self,
        connection: apsw.Connection,
        view: IndexView | None,
        dimension_of: Callable[[apsw.Connection], int | None],
    ) -> None:
        self._connection = connection
        self._view = view
        self._dimension_of = dimension_of

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        if self._view is None:
            query = checked_vector(query_vector, self._dimension_of(self._connection))
            return reads.nearest(self._connection, query, limit, where)
        query = checked_vector(query_vector, self._view.dimension)
        return indexed_reads.nearest(self._connection, self._view, query, limit, where)

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        if self._view is None:
            return reads.tagged(self._connection, weights, limit, where)
        return searching.tagged(self._view, weights, limit, where)

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        if self._view is None:
            found = reads.matching(self._connection, terms, limit, where)
        else:
            found = indexed_reads.matching(self._connection, self._view, terms, limit, where)
        return TextMatches(found, reads.words_of_best(self._connection, found, terms, where.namespace))

    async def word_rarities(self, words: Sequence[str]) -> dict[str, float]:
        if self._view is None:
            return reads.word_rarities(self._connection, words)
        return searching.word_rarities(self._view, words)

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        return reads.adjacent(self._connection, content_hashes, limit, where)

    async def tags_version(self, namespace: str) -> int:  # noqa: ARG002 - one number serves all namespaces
        return reads.tags_version(self._connection)

    async def count_all_memories(self, namespace: str) -> int:
        if self._view is None:
            return reads.count_memories(self._connection, namespace)
        return self._view.count(namespace)

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        return reads.many_memories(self._connection, namespace, content_hashes)
