"""The vocabularies behind query expansion, one for each namespace and of its memories alone.

A search takes them as they are: from memory, else from the file beside the store. What makes and refreshes them reads
the memories and embeds the terms that are new, in the background.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...embeddings.base import Embedder
from ...errors import MemoryServiceError
from ...hybrid_search.concepts import ADDED_TERMS, Vocabulary, chosen_terms, terms_of
from ...hybrid_search.text.tokens import word_tokens
from ...lru import LruCache
from ...models import EmbeddedMemory, MemoryFilter, Vector
from ...single_flight import SingleFlight
from ...storage.concept_files import ConceptDraft, concept_draft, read_concepts
from ...storage.ports import Store
from .query import Missing

logger = logging.getLogger(__name__)

MAX_VOCABULARIES = 16
"""Kept in memory, each of up to 30 MB with the local model."""
MAX_ATTEMPTS = 1_024
CANDIDATES = 12
"""So many of the nearest terms are looked up in the store: memories that had some of them may be deleted by now."""

PAUSE_SECONDS = 300.0
"""A vocabulary is refreshed no more often: three terms hardly change with a few memories."""
EDITED_SECONDS = 3_600.0
"""So long one counts as fresh if there are as many memories as before: their texts may have been edited."""
UNNOTICED_SHARE = 0.01
"""Of the memories; below a hundred of them any change counts."""

SCANNED_AT_ONCE = 500
EMBEDDED_AT_ONCE = 256
"""Terms: a fraction of a second, after which searches and stores have their turn."""


class Attempt(NamedTuple):
    """To make a vocabulary."""

    at: float
    failed: bool = False


NO_ATTEMPT = Attempt(float("-inf"))


@dataclass(slots=True)
class _Counted:
    memories: int = 0
    memories_per_term: Counter[str] = field(default_factory=Counter[str])


class Concepts:
    """For one event loop. `beside` is the file of the store, where there is one."""

    def __init__(
        self, storage: Store, embedder: Embedder, beside: Path | None, monotonic_seconds: Callable[[], float]
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._beside = beside
        self._seconds = monotonic_seconds
        self._kept: LruCache[str, Vocabulary] = LruCache(MAX_VOCABULARIES)
        self._attempts: LruCache[str, Attempt] = LruCache(MAX_ATTEMPTS)
        self._loading: SingleFlight[str, Vocabulary | None] = SingleFlight()
        self._due: dict[str, None] = {}
        self._is_due = asyncio.Event()
        self._purges = 0

    async def nearest(self, namespace: str, query: str, vector: Vector) -> tuple[str, ...] | Missing:
        """The terms to add to a query, none as long as there is no vocabulary; Unavailable if the store does not
        answer."""
        vocabulary = self._kept.get(namespace) or await self._loading.run(namespace, lambda: self._loaded(namespace))
        if vocabulary is None:
            self._note_due(namespace, PAUSE_SECONDS)
            failed = (self._attempts.get(namespace) or NO_ATTEMPT).failed
            return Missing("query_expansion_unavailable") if failed else ()
        candidates: list[str] = []
        if vocabulary.vectors.shape[1] == vector.size:  # another one is refused by the store
            candidates = await asyncio.to_thread(vocabulary.nearest, query, vector, CANDIDATES)
        stems = {term: word_tokens(term) for term in candidates}
        words = [stem for of_term in stems.values() for stem in of_term]
        counted = await self._storage.corpus_statistics(MemoryFilter(namespace), words, ())
        is_changed = abs(counted.memories - vocabulary.memories) > UNNOTICED_SHARE * vocabulary.memories
        self._note_due(namespace, PAUSE_SECONDS if is_changed else EDITED_SECONDS)
        said = [term for term in candidates if all(counted.having_word.get(stem) for stem in stems[term])]
        return tuple(said[:ADDED_TERMS])

    async def prepare(self, namespace: str) -> None:
        """Make the vocabulary now, unless it is there."""
        if self._kept.get(namespace) is None:
            await self.refresh([namespace])

    async def keep_fresh(self) -> None:
        """Refresh what searches found to be due, for as long as the service lives."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            due, self._due = tuple(self._due), {}
            try:
                await self.refresh(due)
            except MemoryServiceError as error:
                logger.warning("The vocabulary for query expansion cannot be made; it is tried again: %s", error)
                for namespace in due:
                    self._attempts.put(namespace, Attempt(self._seconds(), failed=True))

    async def refresh(self, namespaces: Sequence[str]) -> None:
        """Make the vocabularies of these namespaces of what they hold now."""
        for namespace in namespaces:
            self._attempts.put(namespace, Attempt(self._seconds()))
        with ExitStack() as files:
            drafts = {namespace: self._draft(namespace, files) for namespace in namespaces}  # before anything is read
            purges, counts = self._purges, await self._counted(namespaces)
            for namespace in namespaces:
                vocabulary = await self._vocabulary(namespace, counts[namespace])
                draft = drafts[namespace]
                is_kept = draft is None or await asyncio.to_thread(self._written, draft, vocabulary)
                if is_kept and purges == self._purges:
                    self._kept.put(namespace, vocabulary)
                else:  # memories were purged meanwhile, by another process or by this one
                    self._kept.forget(namespace)
                    self._attempts.forget(namespace)

    def forget(self) -> None:
        """Memories were purged: nothing that was made of them is used again."""
        self._purges += 1
        self._kept = LruCache(MAX_VOCABULARIES)
        self._attempts = LruCache(MAX_ATTEMPTS)

    def _note_due(self, namespace: str, after_seconds: float) -> None:
        if self._seconds() - (self._attempts.get(namespace) or NO_ATTEMPT).at >= after_seconds:
            self._due[namespace] = None
            self._is_due.set()

    async def _loaded(self, namespace: str) -> Vocabulary | None:
        """That of the file."""
        if self._beside is None:
            return None
        purges = self._purges
        found = await asyncio.to_thread(read_concepts, self._beside, namespace, self._embedder.model_id)
        if found is None or purges != self._purges:
            return None
        self._kept.put(namespace, found)
        return found

    def _draft(self, namespace: str, files: ExitStack) -> ConceptDraft | None:
        if self._beside is None:
            return None
        try:
            return files.enter_context(concept_draft(self._beside, namespace))
        except OSError as error:
            logger.warning("The vocabulary for query expansion is kept in memory alone: %s", error)
            return None

    def _written(self, draft: ConceptDraft, vocabulary: Vocabulary) -> bool:
        """False if memories were purged since it was begun."""
        try:
            return draft.keep(vocabulary, self._embedder.model_id)
        except OSError as error:  # a full disk
            logger.warning("The vocabulary for query expansion is kept in memory alone: %s", error)
            return True

    async def _counted(self, namespaces: Sequence[str]) -> dict[str, _Counted]:
        """One walk through the store, however many namespaces are due."""
        counts = {namespace: _Counted() for namespace in namespaces}
        cursor: str | None = None
        while True:
            part = await self._storage.scan(cursor, SCANNED_AT_ONCE)
            await asyncio.to_thread(_count, part.items, counts)
            cursor = part.cursor
            if cursor is None:
                return counts

    async def _vocabulary(self, namespace: str, counted: _Counted) -> Vocabulary:
        """Only terms that are new are embedded."""
        terms = await asyncio.to_thread(chosen_terms, counted.memories_per_term)
        before = self._kept.get(namespace) or await self._loaded(namespace)
        vectors: dict[str, Vector] = dict(zip(before.terms, before.vectors, strict=True)) if before else {}
        new = [term for term in terms if term not in vectors]
        for start in range(0, len(new), EMBEDDED_AT_ONCE):
            part = new[start : start + EMBEDDED_AT_ONCE]
            vectors |= zip(part, await self._embedder.embed(part), strict=True)
        matrix = await asyncio.to_thread(_matrix, terms, vectors)
        return Vocabulary(terms, matrix, counted.memories)


def _count(items: Sequence[EmbeddedMemory], counts: Mapping[str, _Counted]) -> None:
    for item in items:
        counted = counts.get(item.memory.namespace)
        if counted is not None:
            counted.memories += 1
            counted.memories_per_term.update(terms_of(item.memory.content))


def _matrix(terms: Sequence[str], vectors: Mapping[str, Vector]) -> NDArray[np.float32]:
    if not terms:
        return np.zeros((0, 0), np.float32)
    return np.stack([vectors[term] for term in terms]).astype(np.float32)
