"""How much text a filter leaves and how many of these memories have a word: what BM25 needs to know, kept for a short
while."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from qdrant_client import models

from ...lru import LruCache
from ...models import MemoryFilter, history_of, trash_of
from .connection import QdrantConnection
from .filters import any_of, every_memory, passing

CORPUS_SECONDS = 60.0
COUNT_SECONDS = 5.0

COUNTED_EXACTLY = 10_000

# The corpus is measured anew when so much of it has changed; less moves no score by more than about as much.
NOTICEABLE_CHANGE = 0.01

MAX_CORPORA = 1_000
"""Of so many the statistics are kept: some numbers for each."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """How much text there is."""

    memories: int
    words: int

    @property
    def mean_length(self) -> float:
        return self.words / self.memories if self.words else 1.0


class TextStatistics:
    """What others write is noticed within a minute, our own writes at once as far as they matter."""

    def __init__(self, connection: QdrantConnection) -> None:
        self._connection = connection
        self.of_all = CountedCorpus(connection)
        """Of all namespaces: what the server weighs words by. No score that is shown comes from it."""
        self._by_filter: LruCache[MemoryFilter, CountedCorpus] = LruCache(MAX_CORPORA)

    def of(self, where: MemoryFilter) -> "CountedCorpus":
        """Of the corpus of a filter."""
        where = where.corpus
        known = self._by_filter.get(where)
        if known is None:
            known = CountedCorpus(self._connection, where, self.of_all)
            self._by_filter.put(where, known)
        return known

    def note_writes(self, namespaces: Sequence[str]) -> None:
        """By the namespace of each memory that was written, which may have changed all of its corpora."""
        for namespace, writes in Counter(namespaces).items():
            of_namespace = [known for where, known in self._by_filter.items() if where.namespace == namespace]
            for counted in (self.of_all, *of_namespace):
                counted.note_writes(writes)


class CountedCorpus:
    """The corpus of a filter, or all memories of all namespaces."""

    def __init__(
        self, connection: QdrantConnection, where: MemoryFilter | None = None, of_all: "CountedCorpus | None" = None
    ) -> None:
        self._connection = connection
        self._where = where
        self._of_all = of_all
        self._corpus: Corpus | None = None
        self._corpus_expires = 0.0
        self._writes = 0
        self._measuring = asyncio.Lock()
        self._counts: dict[str, int] = {}
        self._counts_expire = 0.0

    def note_writes(self, writes: int) -> None:
        self._writes += writes
        self._counts = {}  # a new one: a count that is under way belongs to the old

    async def corpus(self) -> Corpus:
        """All memories, and their words together."""
        async with self._measuring:
            known = self._corpus
            if (
                known is None
                or time.monotonic() > self._corpus_expires
                or self._writes > known.memories * NOTICEABLE_CHANGE
            ):
                writes_before = self._writes
                where = every_memory() if self._where is None else passing(self._where)
                lengths = await self._connection.facet("length", where)
                words = sum(int(length) * memories for length, memories in lengths.items())
                known = Corpus(sum(lengths.values()), words)
                self._corpus, self._corpus_expires = known, time.monotonic() + CORPUS_SECONDS
                self._writes -= writes_before
            return known

    async def document_frequencies(self, conditions: Sequence[models.Condition]) -> list[int]:
        """How many memories pass each condition on their words.

        A large store is not counted through for each word of a query: its index knows how many have the word, but for
        deletions that it has not cleared away yet. Of phrases it knows nothing, and of a part of the store it could
        only guess from the words of all.
        """
        if not conditions:
            return []
        is_large = (await self.corpus()).memories > COUNTED_EXACTLY
        if is_large and self._of_all is not None and await self.is_all():
            return await self._of_all.document_frequencies(conditions)
        exact = not is_large or self._where is not None
        return list(await asyncio.gather(*(self.count(each, exact=exact or _is_phrase(each)) for each in conditions)))

    async def is_all(self) -> bool:
        """Whether there are no others. In a large store a little history and trash of its own does not count, as
        deletions do not that the index has not cleared away yet."""
        if self._of_all is None or self._where is None:
            return True
        if not self._where.has_whole_namespace:
            return False
        own, together = (await self.corpus()).memories, (await self._of_all.corpus()).memories
        if own <= COUNTED_EXACTLY or not 0 < together - own <= own * NOTICEABLE_CHANGE:
            return own >= together
        annexes = [history_of(self._where.namespace), trash_of(self._where.namespace)]
        return own + await self._connection.count(models.Filter(must=[any_of("namespace", annexes)])) >= together

    async def count(self, condition: models.Condition, *, exact: bool = True) -> int:
        """How many memories pass a condition; remembered for a few seconds."""
        now, name = time.monotonic(), condition.model_dump_json()
        if now > self._counts_expire:
            self._counts, self._counts_expire = {}, now + COUNT_SECONDS
        counts = self._counts
        if name not in counts:
            # Nothing but memories has words.
            where = models.Filter(must=[condition]) if self._where is None else passing(self._where, condition)
            counts[name] = await self._connection.count(where, exact=exact)
        return counts[name]


def _is_phrase(condition: models.Condition) -> bool:
    return isinstance(condition, models.FieldCondition) and isinstance(condition.match, models.MatchPhrase)


class CorpusSizes:
    """How many memories there are; asked by every search, so a large namespace is not counted through."""

    def __init__(self, connection: QdrantConnection) -> None:
        self._connection = connection
        self._large: set[str] = set()
        """Namespaces."""

    async def of(self, where: MemoryFilter) -> int:
        """Of the corpus of a filter. Exact up to some thousand, and of a whole namespace above that as exact as the
        indexes of the server are without counting."""
        passes, namespace = passing(where.corpus), where.namespace
        if not where.has_whole_namespace:
            return await self._connection.count(passes)
        if namespace in self._large:
            estimate = await self._connection.count(passes, exact=False)
            if estimate > COUNTED_EXACTLY:
                return estimate
        counted = await self._connection.count(passes)
        (self._large.add if counted > COUNTED_EXACTLY else self._large.discard)(namespace)
        return counted
