"""The signals of a search: each allowed to fail by itself, and every failure told.

They are asked inside `Store.search`: nothing is awaited here but what is asked of the store and begun there.
"""

import logging
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ...errors import InvalidVector, SearchUnavailable, Unavailable
from ...hybrid_search import (
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
from ...hybrid_search.columns.candidates import Candidates
from ...models import Candidate, MemoryFilter, TextMatches, Vector
from ...storage.ports import SearchReads, Snapshot
from .similarity_baseline import SimilarityBaseline
from .tag_cache import KnownTags

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
class Missing:
    """In place of what could not be had."""

    reason: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is needed before the signals are asked; None stands for what the question does not need."""

    vector: Vector | Missing | None
    tags: KnownTags | Missing | None
    background: SimilarityBaseline | Missing | None
    is_final: bool = False
    """Whether the search goes on with it even if the store has changed since."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """In place of the answers of a search that was prepared with what does not hold any more."""

    memories: int | None
    """How many there are now, as far as they were counted."""


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
    is_unfit: bool = False
    """Whether the store refused the vector of the query."""


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


async def ask(question: Question, prepared: Prepared, snapshot: Snapshot) -> Answers | Outdated:
    """What every wanted signal says."""
    reads = snapshot.reads
    counting = snapshot.start(_counted(question, reads))  # once, for whoever needs it
    checking = snapshot.start(_still_holds(question, prepared, reads))
    by_meaning = snapshot.start(_by_meaning(question, prepared.vector, reads))
    by_words = snapshot.start(_by_words(question, reads))
    weighing = snapshot.start(_rarities(question, reads))
    by_tags = snapshot.start(_by_tags(question, prepared.tags, reads, counting))
    memories = await counting
    if not (await checking and _is_of(prepared, memories)):
        return Outdated(memories)
    return Answers(
        vector=_with_prominence(question, await by_meaning, prepared, memories),
        keyword=_with_evidence(question, await by_words, await weighing, memories),
        tag=await by_tags,
    )


async def neighbours(content_hashes: Sequence[str], limit: int, where: MemoryFilter, reads: SearchReads) -> Signal:
    """The memories next to these in their sessions."""
    return await _asked(reads.adjacent(content_hashes, limit, where), "neighbours_unavailable")


async def _counted(question: Question, reads: SearchReads) -> int | None:
    if not (TAG in question.wanted or question.weighs_evidence):
        return None
    counted = await _answered(reads.count_all_memories(question.where.namespace), "corpus_size_unavailable")
    return None if isinstance(counted, Missing) else counted


async def _by_meaning(question: Question, vector: Vector | Missing | None, reads: SearchReads) -> VectorSignal:
    if vector is None:
        return VectorSignal()
    if isinstance(vector, Missing):
        return VectorSignal(degraded=(vector.reason,), failed=True)
    try:
        search = reads.retrieve(vector, question.vector_limit, question.where)
        found = await _answered(search, "vector_search_unavailable")
    except InvalidVector as error:  # not what this store was made with
        return VectorSignal(degraded=(note("embedder_unavailable", error),), failed=True, is_unfit=True)
    if isinstance(found, Missing):
        return VectorSignal(degraded=(found.reason,), failed=True)
    return VectorSignal(found)


def _with_prominence(
    question: Question, answer: VectorSignal, prepared: Prepared, memories: int | None
) -> VectorSignal:
    found, degraded, background = answer.candidates, answer.degraded, prepared.background
    prominence = None
    if isinstance(background, Missing):  # what was found stays
        degraded = (*degraded, background.reason)
    elif background and isinstance(prepared.vector, np.ndarray) and found and memories:
        prominence = background.prominence(prepared.vector, found[0].score, memories)
    least = question.min_similarity
    if least is not None:
        columns = Candidates.of(found)
        found = columns.take(np.flatnonzero(columns.scores >= least))
    return replace(answer, candidates=found, degraded=degraded, prominence=prominence)


async def _by_words(question: Question, reads: SearchReads) -> TextMatches | Missing:
    if KEYWORD not in question.wanted:
        return TextMatches()
    search = reads.search_by_text(query_terms(question.query), question.lexical_limit, question.where)
    return await _answered(search, "keyword_search_unavailable")


async def _rarities(question: Question, reads: SearchReads) -> dict[str, float] | Missing:
    """How rare the words of the query are, if that is to be weighed."""
    if not (KEYWORD in question.wanted and question.weighs_evidence):
        return {}
    return await _answered(
        reads.inverse_document_frequencies(query_terms(question.query).all_words), "evidence_unavailable"
    )


def _with_evidence(
    question: Question,
    matches: TextMatches | Missing,
    rarities: dict[str, float] | Missing,
    memories: int | None,
) -> KeywordSignal:
    if isinstance(matches, Missing):
        return KeywordSignal(degraded=(matches.reason,), failed=True)
    if isinstance(rarities, Missing):  # what was found stays
        return KeywordSignal(matches.candidates, (rarities.reason,))
    evidence = None
    if KEYWORD in question.wanted and question.weighs_evidence and memories:
        asked = query_terms(question.query).all_words
        evidence = word_evidence(asked, matches.best_has, rarities, memories)
    return KeywordSignal(matches.candidates, evidence=evidence)


async def _by_tags(
    question: Question, known: KnownTags | Missing | None, reads: SearchReads, counting: Awaitable[int | None]
) -> TagSignal:
    if known is None:
        return TagSignal()
    degraded: tuple[str, ...] = ()
    per_tag: Mapping[str, int] = {}
    memories: int | None = None
    if isinstance(known, Missing):
        degraded = (known.reason,)
    else:
        per_tag, memories = known.memories_per_tag, known.memories
    if memories is None:
        memories = await counting
    memories = memories or UNKNOWN_CORPUS_SIZE
    counts = {tag: per_tag.get(tag, 0) for tag in _wanted_tags(question, known)}
    if question.extract_tags:
        counts = dividing_tags(counts, memories)
    answer = Signal()
    if counts:
        search = reads.search_by_tag(tag_weights(counts, memories), question.lexical_limit, question.where)
        answer = await _asked(search, "tag_search_unavailable")
    counted = await counting
    if counted is None:
        degraded = (*degraded, "corpus_size_unavailable")
    return TagSignal(
        as_rare_as_they_are_few(answer.candidates, memories),
        degraded + answer.degraded,
        answer.failed,
        tuple(counts),
        counted or UNKNOWN_CORPUS_SIZE,
    )


async def _still_holds(question: Question, prepared: Prepared, reads: SearchReads) -> bool:
    if prepared.is_final or not isinstance(prepared.tags, KnownTags):
        return True
    version = await _answered(reads.tags_version(question.where.namespace), "tag_list_unavailable")
    return version == prepared.tags.version


def _is_of(prepared: Prepared, memories: int | None) -> bool:
    background = prepared.background
    if prepared.is_final or memories is None or not isinstance(background, SimilarityBaseline):
        return True
    return background.is_of(memories)


async def _asked(search: Coroutine[Any, Any, Sequence[Candidate]], reason: str) -> Signal:
    found = await _answered(search, reason)
    return Signal(degraded=(found.reason,), failed=True) if isinstance(found, Missing) else Signal(found)


async def _answered(asked: Coroutine[Any, Any, T], reason: str) -> T | Missing:
    try:
        return await asked
    except Unavailable as error:
        return Missing(note(reason, error))


def _wanted_tags(question: Question, known: KnownTags | Missing) -> tuple[str, ...]:
    """The tags to look for: the caller's, else those the query names, else (no list to be had) its words."""
    if not question.extract_tags:
        return question.where.tags
    vocabulary = known.vocabulary if isinstance(known, KnownTags) else None
    return tuple(extract_query_keywords(question.query, vocabulary))


def note(reason: str, error: Exception) -> str:
    logger.warning("Search goes on without a part: %s (%s)", reason, error)
    return reason
