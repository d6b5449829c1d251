"""What a search asks of a store, and how it is run there."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from ...models import Candidate, CorpusStatistics, Linked, Memory, MemoryFilter, QueryTerms, TextMatches, Vector

T = TypeVar("T")


class SearchReads(Protocol):
    """What a search asks. Every filter is applied inside the engine's query. What one namespace holds changes no answer
    to another."""

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        """The memories nearest to a vector by cosine similarity, best first, at most `limit`.

        Fewer than `limit` come back only if fewer that have vectors match the filter. A long memory counts by its
        nearest chunk.
        """
        ...

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        """Memories that carry any of the weighted tags (folded), by the sum of the weights of the tags they carry,
        then newest first, at most `limit`."""
        ...

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        """Memories whose text or tags have any of the terms, by BM25, then newest first, at most `limit`; a phrase
        counts only where its words stand together. No terms find nothing. How rare a term is and how long a text is on
        average is that of `where.corpus`: scores are those of a store with nothing else in it."""
        ...

    async def corpus_statistics(
        self, where: MemoryFilter, words: Sequence[str], tags: Sequence[str]
    ) -> CorpusStatistics:
        """Of `where.corpus`; of words and tags (folded) that nobody has, 0."""
        ...

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        """The memories directly before and after any of these in the same session (sequence ± 1), each once, in the
        order of session and sequence, as far as they pass the filter, at most `limit`. Their score is 0."""
        ...

    async def linked(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Linked]:
        """What is one edge of `LINK_KINDS` away from these, as far as it passes the filter: in the order asked, what
        each points at before what points at it, in the order of the keys of the edges, at most `limit`. No memory is
        linked with itself.

        An edge to a name leads to all that have it, by sequence, at most `MAX_NAMED`. Degrees are those of the
        namespace, whatever the filter, and count no further than `MAX_LINKS`; a memory with more edges than that in one
        direction has none there. No more than so many of them are read.
        """
        ...

    async def chunk_similarities(
        self, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
    ) -> dict[str, list[float]]:
        """The cosine similarity of each chunk of these memories to a vector, in the order of the text; unknown ids, and
        those of memories without vectors, are left out."""
        ...

    async def tags_version(self, namespace: str) -> int:
        """Changes whenever any process adds a tag to the namespace or removes one, and not when others change; cheap to
        ask."""
        ...

    async def count_all_memories(self, namespace: str) -> int: ...

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        """In the order asked; unknown ids are left out."""
        ...


class StartRead(Protocol):
    def __call__(self, read: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Have something read by the time it is awaited; at the same time as others where that saves time. It may be
        awaited several times. What is never awaited is given up."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A store as one search sees it: all that the search awaits comes from here, for it may be run by a thread that has
    no event loop."""

    reads: SearchReads
    start: StartRead


SearchWork: TypeAlias = Callable[[Snapshot], Coroutine[Any, Any, T]]


class SearchStore(SearchReads, Protocol):
    async def search(self, work: SearchWork[T], *, part_by_part: bool = False) -> T:
        """Run a search. Where its reads wait for nothing, one thread does all of it on one snapshot of the store; it
        may then be started once more if it fails. `part_by_part` asks each read by itself all the same: for so many
        candidates that one thread would be busy with them for long."""
        ...
