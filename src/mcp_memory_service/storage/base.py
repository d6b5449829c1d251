"""The storage port. Its docstrings are promises; tests/contract holds every backend to them."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from ..models import (
    Candidate,
    EmbeddedMemory,
    Feedback,
    IndexedText,
    Memory,
    MemoryFilter,
    MemoryPage,
    MemoryPatch,
    MemoryScan,
    Purged,
    QueryTerms,
    RequestKey,
    StoreOutcome,
    StoreStats,
    TagCount,
    TextMatches,
    Tuning,
    Vector,
    VectorSample,
)
from ..timestamps import MICROSECONDS_PER_DAY
from .pace import Pace

T = TypeVar("T")

TextAnalyzer: TypeAlias = Callable[[str, Sequence[str]], IndexedText]
"""Cuts content and tags into the words of the keyword signal; given to a store when it is opened, the same for all."""

KEYS_KEPT_MICROSECONDS = MICROSECONDS_PER_DAY
"""How long a key of a request is remembered: longer than any client goes on trying."""


class SearchReads(Protocol):
    """What a search asks of a store."""

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        """The memories nearest to a vector by cosine similarity, best first, at most `limit`.

        Fewer than `limit` come back only if fewer match the filter. A long memory counts by its nearest window.
        """
        ...

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        """Memories that carry any of the weighted tags (folded), by the sum of the weights of the tags they carry,
        then newest first, at most `limit`."""
        ...

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        """Memories whose text or tags have any of the terms, by BM25, then newest first, at most `limit`; a phrase
        counts only where its words stand together. No terms find nothing."""
        ...

    async def word_rarities(self, words: Sequence[str]) -> dict[str, float]:
        """The inverse document frequency of each word in the whole store, in natural logarithms as BM25 has it: highest
        for a word that no memory has, never below 0."""
        ...

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        """The memories directly before and after any of these in the same session (sequence ± 1), each once, in the
        order of session and sequence, as far as they pass the filter, at most `limit`. Their raw score is 0."""
        ...

    async def tags_version(self, namespace: str) -> int:
        """A number that is another one whenever a tag has come or gone, whoever did it; cheap to ask."""
        ...

    async def count_all_memories(self, namespace: str) -> int: ...

    async def get_many(self, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
        """In the order asked; unknown ids are left out."""
        ...


class MemoryStorage(SearchReads, Protocol):
    """A place for memories, their tags and their vectors.

    A memory's parts change together or not at all. A write that has returned is on disk. Failures of the engine
    surface as errors of `errors.py`, never as empty answers.
    """

    async def store(self, item: EmbeddedMemory) -> StoreOutcome:
        """Keep a memory. If its namespace has the same content_hash already, unite tags (old ones first), merge
        metadata (new values win), take a new memory_type if one is given, fill source, session and sequence if they
        were empty, and keep content, created_at and vectors.

        Raises InvalidVector before anything is written if a vector is unfit.
        """
        ...

    async def store_batch(self, items: Sequence[EmbeddedMemory]) -> list[StoreOutcome]:
        """Store all of them or, if one is refused, none; outcomes come in the order given. In one transaction where the
        engine has them; where it has none and fails half-way, BatchIncomplete says which ones are stored."""
        ...

    async def search(self, work: Callable[[SearchReads, Pace], Coroutine[Any, Any, T]]) -> T:
        """Do a search. Where its reads wait for nothing, one thread does all of it on one snapshot of the store: so
        `work` awaits nothing but what it asks of its two arguments, and may be begun once more if it fails."""
        ...

    async def sample_vectors(self, namespace: str, limit: int) -> VectorSample:
        """Vectors of memories drawn evenly from the namespace, at most `limit`; the same ones until memories change.
        All of them if there are no more than that."""
        ...

    async def get_all_tags(self, namespace: str) -> list[TagCount]:
        """Every tag that a memory of the namespace carries, most used first, each once whatever its case."""
        ...

    async def get(self, namespace: str, content_hash: str) -> Memory | None: ...

    async def get_embedded(self, namespace: str, content_hashes: Sequence[str]) -> list[EmbeddedMemory]:
        """Memories with their vectors, in the order asked; unknown ids are left out."""
        ...

    async def list_memories(self, where: MemoryFilter, offset: int, limit: int) -> MemoryPage:
        """Newest first (the id breaks ties), with the number of all that match."""
        ...

    async def update(
        self, namespace: str, content_hash: str, patch: MemoryPatch, now: int, request: RequestKey | None = None
    ) -> Memory | None:
        """Apply a patch to the memory as it is at that moment; None if there is no such memory.

        With a request key that the namespace has seen within KEYS_KEPT_MICROSECONDS, nothing is applied: the memory is
        returned as it is now. The key is kept together with the change or not at all; if there is no such memory, or
        the patch is refused, it is not kept. Of several at once with one key, one is carried out. IdempotencyKeyReused
        if the key came with another fingerprint before.
        """
        ...

    async def delete(self, namespace: str, content_hash: str, request: RequestKey | None = None) -> bool:
        """True if it was there. Once this returns, no call finds the memory or its text again.

        With a request key that was seen before, the first answer is given again, and a memory that was stored anew
        since then is left alone. Otherwise keys are as for `update`, but kept also if there is no such memory.
        """
        ...

    async def purge(self, namespace: str, content_hashes: Sequence[str]) -> Purged:
        """Delete these memories, as far as they are there, and erase the bytes of all that was ever deleted from the
        files of the store; as far as the engine can."""
        ...

    async def stats(self, namespace: str) -> StoreStats: ...

    @property
    def degraded(self) -> tuple[str, ...]:
        """What searches do without at this moment, as codes; what they find is right all the same, but found more
        slowly."""
        ...

    async def check_search(self) -> None:
        """Raise what keeps searches from working now, if anything does."""
        ...

    async def check_write(self) -> None:
        """Raise what keeps a memory from being stored now, if anything does; nothing is changed that anybody sees."""
        ...

    async def close(self) -> None:
        """Finish accepted writes and let go of the store; closing twice is harmless."""
        ...


class TuningStorage(Protocol):
    """What is learned about a corpus, kept beside its memories."""

    async def add_feedback(self, namespace: str, feedback: Feedback) -> bool:
        """Keep what was said of a result, in place of what was said before of the same query and memory. False if there
        is no such memory. Feedback goes when its memory goes."""
        ...

    async def list_feedback(self, namespace: str) -> list[Feedback]:
        """All of it, oldest first."""
        ...

    async def save_tuning(self, namespace: str, tuning: Tuning) -> Tuning:
        """Put weights in force; returns them with their version."""
        ...

    async def current_tuning(self, namespace: str) -> Tuning | None:
        """The newest weights that were not rolled back; None if there are none."""
        ...

    async def roll_back_tuning(self, namespace: str) -> Tuning | None:
        """Put the current weights out of force for good and return them; None if there are none."""
        ...


class ServiceStorage(MemoryStorage, TuningStorage, Protocol):
    """All that the service asks of a store."""


class WholeStorage(ServiceStorage, Protocol):
    """A store that can also be copied as a whole."""

    async def namespaces(self) -> list[str]:
        """Those that have memories, in order."""
        ...

    async def scan(self, cursor: str | None, limit: int) -> MemoryScan:
        """Up to `limit` memories of any namespace with their vectors, from where an earlier scan ended. What is there
        all the while comes exactly once; what is stored meanwhile may be left out."""
        ...
