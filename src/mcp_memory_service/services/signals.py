"""The signals of a search: asked in parallel, each allowed to fail by itself, and every failure told."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..embeddings.base import Embedder
from ..errors import InvalidVector, SearchUnavailable, Unavailable
from ..hybrid_search import (
    KEYWORD,
    TAG,
    VECTOR,
    Evidence,
    WordEvidence,
    as_rare_as_they_are_few,
    dividing_tags,
    extract_query_keywords,
    query_terms,
    tag_weights,
    word_evidence,
)
from ..models import Candidate, Candidates, MemoryFilter, Vector
from ..storage.base import MemoryStorage
from .query_vectors import QueryVectors
from .tag_cache import KnownTags, TagCache
from .vector_background import VectorBackground

TAG_LIST_TIMEOUT_SECONDS = 2.0
# An embedding server that hangs must not hold a search that tags and words can answer.
EMBED_TIMEOUT_SECONDS = 10.0
# Taken when the corpus cannot be counted: it then counts as small, and alpha is balanced.
UNKNOWN_CORPUS_SIZE = 0

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """What the signals are asked."""

    query: str
    where: MemoryFilter
    extract_tags: bool
    """False when the caller named the tags, or wants none."""
    min_similarity: float | None
    wanted: frozenset[str]
    """The names of the signals to ask."""
    vector_limit: int
    lexical_limit: int
    """The most candidates of the vector signal, and of words and tags each."""
    weighs_evidence: bool = False
    """Whether the signals shall also say how far they can be trusted."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What one signal answered; one that was not asked has answered with nothing."""

    candidates: Sequence[Candidate] = ()
    degraded: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class VectorSignal(Signal):
    prominence: float | None = None
    """How far its best hit stands out, if that was asked and can be told."""


@dataclass(frozen=True, slots=True)
class KeywordSignal(Signal):
    evidence: WordEvidence | None = None
    """What its best hit has of the query, if that was asked and can be told."""


@dataclass(frozen=True, slots=True)
class TagSignal(Signal):
    keywords: tuple[str, ...] = ()
    corpus_size: int = UNKNOWN_CORPUS_SIZE


@dataclass(frozen=True, slots=True)
class Answers:
    vector: VectorSignal
    keyword: KeywordSignal
    tag: TagSignal
    neighbour: Signal = Signal()
    """Neighbours of the best that no other signal found; asked for last."""
    slowed_by: tuple[str, ...] = ()
    """What the store did without."""

    @property
    def evidence(self) -> Evidence | None:
        """What the signals show of their strength; None if one of them could not tell."""
        words = self.keyword.evidence
        if self.vector.prominence is None or words is None:
            return None
        return Evidence(self.vector.prominence, words.rarity, words.coverage)

    @property
    def candidates(self) -> dict[str, Sequence[Candidate]]:
        return {name: signal.candidates for name, signal in self._named()}

    @property
    def degraded(self) -> tuple[str, ...]:
        asked = [*(signal for _, signal in self._named()), self.neighbour]
        reasons = [reason for signal in asked for reason in signal.degraded]
        return tuple(dict.fromkeys((*reasons, *self.slowed_by)))

    def require_an_answer(self) -> None:
        """An empty list must mean that nothing matches, never that nobody could be asked."""
        signals = [signal for _, signal in self._named()]
        if any(signal.failed for signal in signals) and not any(signal.candidates for signal in signals):
            raise SearchUnavailable(f"The search could not be answered ({', '.join(self.degraded)}).")

    def _named(self) -> tuple[tuple[str, Signal], ...]:
        return ((VECTOR, self.vector), (KEYWORD, self.keyword), (TAG, self.tag))


@dataclass(frozen=True, slots=True)
class Missing:
    """In place of what could not be had."""

    reason: str


class Signals:
    def __init__(self, storage: MemoryStorage, embedder: Embedder, tags: TagCache) -> None:
        self._storage = storage
        self._query_vectors = QueryVectors(embedder)
        self._tags = tags
        self._background = VectorBackground(storage, tags.namespace)

    async def ask(self, question: Question) -> Answers:
        counts = TAG in question.wanted or question.weighs_evidence
        slowed_by = self._storage.degraded  # it may be over before all have answered
        corpus_size = asyncio.ensure_future(self._corpus_size(counts))  # counted once, for whoever needs it
        vector, keyword, tag, _ = await asyncio.gather(
            self._by_meaning(question, corpus_size),
            self._by_words(question, corpus_size),
            self._by_tags(question, corpus_size),
            corpus_size,
        )
        return Answers(vector, keyword, tag, slowed_by=slowed_by or self._storage.degraded)

    async def _by_meaning(self, question: Question, corpus_size: asyncio.Future[int | None]) -> VectorSignal:
        if VECTOR not in question.wanted:
            return VectorSignal()
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_SECONDS):
                query_vector = await self._query_vectors.vector(question.query)
        except (Unavailable, TimeoutError) as error:
            return VectorSignal(degraded=(_note("embedder_unavailable", error),), failed=True)
        try:
            answer = await _asked(
                self._storage.retrieve(query_vector, question.vector_limit, question.where), "vector_search_unavailable"
            )
        except InvalidVector as error:  # not what this store was made with
            self._query_vectors.forget(question.query)
            return VectorSignal(degraded=(_note("embedder_unavailable", error),), failed=True)
        found, degraded = answer.candidates, answer.degraded
        try:
            prominence = await self._prominence(question, query_vector, found, await corpus_size)
        except Unavailable as error:  # what was found stays
            prominence, degraded = None, (*degraded, _note("evidence_unavailable", error))
        least = question.min_similarity
        if least is not None:
            columns = Candidates.of(found)
            found = columns.take(np.flatnonzero(columns.raw_scores >= least))
        return VectorSignal(found, degraded, answer.failed, prominence)

    async def _prominence(
        self, question: Question, query_vector: Vector, found: Sequence[Candidate], corpus_size: int | None
    ) -> float | None:
        if not (question.weighs_evidence and found and corpus_size):
            return None
        return await self._background.prominence(query_vector, found[0].raw_score, corpus_size)

    async def _by_words(self, question: Question, corpus_size: asyncio.Future[int | None]) -> KeywordSignal:
        terms = query_terms(question.query)
        if KEYWORD not in question.wanted:
            return KeywordSignal()
        weighs = question.weighs_evidence
        matches, rarities = await asyncio.gather(
            _answered(
                self._storage.search_by_text(terms, question.lexical_limit, question.where),
                "keyword_search_unavailable",
            ),
            _answered(self._storage.word_rarities(terms.all_words if weighs else []), "evidence_unavailable"),
        )
        if isinstance(matches, Missing):
            return KeywordSignal(degraded=(matches.reason,), failed=True)
        if isinstance(rarities, Missing):  # what was found stays
            return KeywordSignal(matches.candidates, (rarities.reason,))
        memories = await corpus_size
        evidence = None
        if weighs and memories:
            evidence = word_evidence(terms.all_words, matches.best_has, rarities, memories)
        return KeywordSignal(matches.candidates, evidence=evidence)

    async def _by_tags(self, question: Question, corpus_size: asyncio.Future[int | None]) -> TagSignal:
        if TAG not in question.wanted:
            return TagSignal()
        remembered = self._tags.remembered()
        if remembered:  # asked for together with whether it still holds, which it mostly does
            signal, holds = await asyncio.gather(
                self._tagged(question, remembered, corpus_size), self._still_holds(remembered)
            )
            if holds:
                return signal
        return await self._tagged(question, await self._known_tags(), corpus_size)

    async def _tagged(
        self, question: Question, known: KnownTags | None, corpus_size: asyncio.Future[int | None]
    ) -> TagSignal:
        memories = (known.memories if known else await corpus_size) or UNKNOWN_CORPUS_SIZE
        counts = {tag: known.memories_per_tag.get(tag, 0) if known else 0 for tag in _wanted_tags(question, known)}
        if question.extract_tags:
            counts = dividing_tags(counts, memories)
        answer = Signal()
        if counts:
            search = self._storage.search_by_tag(tag_weights(counts, memories), question.lexical_limit, question.where)
            answer = await _asked(search, "tag_search_unavailable")
        counted = await corpus_size
        degraded = (() if known else ("tag_list_unavailable",)) + (
            () if counted is not None else ("corpus_size_unavailable",)
        )
        return TagSignal(
            as_rare_as_they_are_few(answer.candidates, memories),
            degraded + answer.degraded,
            answer.failed,
            tuple(counts),
            counted or UNKNOWN_CORPUS_SIZE,
        )

    async def _still_holds(self, remembered: KnownTags) -> bool:
        try:
            async with asyncio.timeout(TAG_LIST_TIMEOUT_SECONDS):
                return await self._tags.is_current(remembered)
        except (Unavailable, TimeoutError):  # told when the list is asked for again
            return False

    async def _known_tags(self) -> KnownTags | None:
        try:
            async with asyncio.timeout(TAG_LIST_TIMEOUT_SECONDS):
                return await self._tags.tags()
        except (Unavailable, TimeoutError) as error:
            _note("tag_list_unavailable", error)
            return None

    async def neighbours(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Signal:
        """The memories next to these in their sessions."""
        return await _asked(self._storage.adjacent(content_hashes, limit, where), "neighbours_unavailable")

    async def _corpus_size(self, counts: bool) -> int | None:
        if not counts:
            return None
        try:
            return await self._storage.count_all_memories(self._tags.namespace)
        except Unavailable as error:
            _note("corpus_size_unavailable", error)
            return None


async def _asked(search: Coroutine[Any, Any, Sequence[Candidate]], reason: str) -> Signal:
    found = await _answered(search, reason)
    return Signal(degraded=(found.reason,), failed=True) if isinstance(found, Missing) else Signal(found)


async def _answered(asked: Coroutine[Any, Any, T], reason: str) -> T | Missing:
    try:
        return await asked
    except Unavailable as error:
        return Missing(_note(reason, error))


def _wanted_tags(question: Question, known: KnownTags | None) -> tuple[str, ...]:
    """The tags to look for: the caller's, else those the query names, else (no list to be had) its words."""
    if not question.extract_tags:
        return question.where.tags
    return tuple(extract_query_keywords(question.query, known.vocabulary if known else None))


def _note(reason: str, error: Exception) -> str:
    logger.warning("Search goes on without a part: %s (%s)", reason, error)
    return reason
