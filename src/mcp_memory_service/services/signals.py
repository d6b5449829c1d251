"""The signals of a search: asked in parallel, each allowed to fail by itself, and every failure told."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from ..embeddings.base import Embedder
from ..errors import InvalidVector, SearchUnavailable, Unavailable
from ..hybrid_search import KEYWORD, TAG, VECTOR, dividing_tags, extract_query_keywords, query_terms, tag_weights
from ..models import Candidate, MemoryFilter
from ..storage.base import MemoryStorage
from .tag_cache import KnownTags, TagCache

TAG_LIST_TIMEOUT_SECONDS = 2.0
# An embedding server that hangs must not hold a search that tags and words can answer.
EMBED_TIMEOUT_SECONDS = 10.0
# Taken when the corpus cannot be counted: it then counts as small, and alpha is balanced.
UNKNOWN_CORPUS_SIZE = 0

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


@dataclass(frozen=True, slots=True)
class Signal:
    """What one signal answered; one that was not asked has answered with nothing."""

    candidates: Sequence[Candidate] = ()
    degraded: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class TagSignal(Signal):
    keywords: tuple[str, ...] = ()
    corpus_size: int = UNKNOWN_CORPUS_SIZE
    most_carriers: int = 0
    """How many memories carry the commonest of the keywords."""


@dataclass(frozen=True, slots=True)
class Answers:
    vector: Signal
    keyword: Signal
    tag: TagSignal

    @property
    def candidates(self) -> dict[str, Sequence[Candidate]]:
        return {name: signal.candidates for name, signal in self._named()}

    @property
    def degraded(self) -> tuple[str, ...]:
        return tuple(reason for _, signal in self._named() for reason in signal.degraded)

    def require_an_answer(self) -> None:
        """An empty list must mean that nothing matches, never that nobody could be asked."""
        signals = [signal for _, signal in self._named()]
        if any(signal.failed for signal in signals) and not any(signal.candidates for signal in signals):
            raise SearchUnavailable(f"The search could not be answered ({', '.join(self.degraded)}).")

    def _named(self) -> tuple[tuple[str, Signal], ...]:
        return ((VECTOR, self.vector), (KEYWORD, self.keyword), (TAG, self.tag))


class Signals:
    def __init__(self, storage: MemoryStorage, embedder: Embedder, tags: TagCache) -> None:
        self._storage = storage
        self._embedder = embedder
        self._tags = tags

    async def ask(self, question: Question) -> Answers:
        vector, keyword, tag = await asyncio.gather(
            self._by_meaning(question), self._by_words(question), self._by_tags(question)
        )
        return Answers(vector, keyword, tag)

    async def _by_meaning(self, question: Question) -> Signal:
        if VECTOR not in question.wanted:
            return Signal()
        try:
            (query_vector,) = await asyncio.wait_for(self._embedder.embed([question.query]), EMBED_TIMEOUT_SECONDS)
        except (Unavailable, TimeoutError) as error:
            return Signal(degraded=(_note("embedder_unavailable", error),), failed=True)
        try:
            answer = await _asked(
                self._storage.retrieve(query_vector, question.vector_limit, question.where), "vector_search_unavailable"
            )
        except InvalidVector as error:  # not what this store was made with
            return Signal(degraded=(_note("embedder_unavailable", error),), failed=True)
        least = question.min_similarity
        if least is None:
            return answer
        return Signal(
            [found for found in answer.candidates if found.raw_score >= least], answer.degraded, answer.failed
        )

    async def _by_words(self, question: Question) -> Signal:
        terms = query_terms(question.query)
        if KEYWORD not in question.wanted or not terms:
            return Signal()
        search = self._storage.search_by_text(terms, question.lexical_limit, question.where)
        return await _asked(search, "keyword_search_unavailable")

    async def _by_tags(self, question: Question) -> TagSignal:
        if TAG not in question.wanted:
            return TagSignal()
        known, counted = await asyncio.gather(self._known_tags(), self._corpus_size())
        degraded = (() if known else ("tag_list_unavailable",)) + (
            () if counted is not None else ("corpus_size_unavailable",)
        )
        corpus_size = counted or UNKNOWN_CORPUS_SIZE
        counts = {tag: known.memories_per_tag.get(tag, 0) if known else 0 for tag in _wanted_tags(question, known)}
        if question.extract_tags:
            counts = dividing_tags(counts, corpus_size)
        if not counts:
            return TagSignal(degraded=degraded, corpus_size=corpus_size)
        search = self._storage.search_by_tag(tag_weights(counts, corpus_size), question.lexical_limit, question.where)
        answer = await _asked(search, "tag_search_unavailable")
        return TagSignal(
            answer.candidates,
            degraded + answer.degraded,
            answer.failed,
            tuple(counts),
            corpus_size,
            max(counts.values()),
        )

    async def _known_tags(self) -> KnownTags | None:
        try:
            return await asyncio.wait_for(self._tags.tags(), TAG_LIST_TIMEOUT_SECONDS)
        except (Unavailable, TimeoutError) as error:
            _note("tag_list_unavailable", error)
            return None

    async def _corpus_size(self) -> int | None:
        try:
            return await self._storage.count_all_memories(self._tags.namespace)
        except Unavailable as error:
            _note("corpus_size_unavailable", error)
            return None


async def _asked(search: Coroutine[Any, Any, list[Candidate]], reason: str) -> Signal:
    try:
        return Signal(await search)
    except Unavailable as error:
        return Signal(degraded=(_note(reason, error),), failed=True)


def _wanted_tags(question: Question, known: KnownTags | None) -> tuple[str, ...]:
    """The tags to look for: the caller's, else those the query names, else (no list to be had) its words."""
    if not question.extract_tags:
        return question.where.tags
    return tuple(extract_query_keywords(question.query, known.vocabulary if known else None))


def _note(reason: str, error: Exception) -> str:
    logger.warning("Search goes on without a part: %s (%s)", reason, error)
    return reason
