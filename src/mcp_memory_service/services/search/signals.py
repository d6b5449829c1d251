"""How each signal is asked: each may fail by itself, and every failure is told.

All of this runs inside `SearchStore.search`: nothing is awaited but the snapshot.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ...errors import InvalidVector, SearchUnavailable, Unavailable
from ...hybrid_search import (
    KEYWORD,
    LEADERS,
    SIGNALS,
    TAG,
    VECTOR,
    Evidence,
    Fused,
    Links,
    RankingPolicy,
    TimeHint,
    VectorStanding,
    WordEvidence,
    as_rare_as_they_are_few,
    certainty,
    confidence_of,
    dividing_tags,
    extract_query_keywords,
    query_terms,
    tag_weights,
    vector_standing,
    without_time,
    word_coverage,
    word_evidence,
)
from ...hybrid_search.bm25 import odds_against
from ...hybrid_search.columns.candidates import Candidates, Scores
from ...hybrid_search.columns.digests import Digests
from ...hybrid_search.confidence import LED
from ...models import (
    Candidate,
    Confidence,
    CorpusStatistics,
    Linked,
    Memory,
    MemoryFilter,
    QueryTerms,
    SearchRequest,
    Vector,
)
from ...storage.ports import SearchReads, Snapshot
from .cached_inputs import NO_CHANCE, Inputs, KnownTags, SimilarityBaseline
from .query import Missing, QueryVector, SignalQuery, note

# Taken when the corpus cannot be counted: it then counts as small, and alpha is balanced.
UNKNOWN_CORPUS_SIZE = 0
NO_TERMS = QueryTerms((), ())

# So many of the best bring in neighbours that no signal found; further down half of a difference reaches no first page.
LEADING = 20
MAX_NEIGHBOURS = 100
# Ten leaders with ten links each, half of them to documents of twenty chunks.
MAX_LINKED = 1_000

T = TypeVar("T")


class Outdated(Exception):
    """The search was prepared with what does not hold any more."""

    def __init__(self, memories: int | None) -> None:
        super().__init__("The store has changed since the search was prepared.")
        self.memories = memories
        """How many there are now, as far as they were counted."""


@dataclass(frozen=True, slots=True)
class SignalResult:
    candidates: Sequence[Candidate] = ()
    degraded: tuple[str, ...] = ()
    failed: bool = False
    terms: tuple[str, ...] = ()
    """What it looked for, where that is worth telling: the tags, and what the query was expanded with."""
    prominence: float | None = None
    """How far the best vector hit stands out, if that was asked and can be told."""
    words: WordEvidence | None = None
    """What the best keyword hit has of the query, likewise."""
    standing: VectorStanding | None = None
    """How far the best vector hit can be taken for an answer; None if there is none."""
    coverage: float | None = None
    """What the best keyword hit has of the query's words, however they are weighed; None for a query without any."""
    refused: bool = False
    """Whether the store refused the vector of the query."""
    vector: Vector | None = None
    """That of the query as it was asked, if the store has searched by one."""
    covered: float = 1.0
    """The share of the memories that it could find: vectors of some may still be to come."""


NOTHING = SignalResult()


@dataclass(frozen=True, slots=True)
class SignalResults:
    by_signal: Mapping[str, SignalResult]
    """Of those that were asked, in the order of the table."""
    corpus_size: int = UNKNOWN_CORPUS_SIZE
    neighbours: SignalResult = NOTHING
    """Neighbours of the best that no signal found; asked for last."""
    links: Links | Missing | None = None
    """Where the best lead; None if nowhere, or links do not count."""
    slowed_by: tuple[str, ...] = ()
    """What the store did without."""
    time: TimeHint | None = None
    """The time that the query names, which counts by itself."""

    def of(self, signal: str) -> SignalResult:
        """One that was not asked has found nothing."""
        return self.by_signal.get(signal, NOTHING)

    @property
    def evidence(self) -> Evidence | None:
        """What the signals show of their strength; None if one of them could not tell."""
        prominence, words = self.of(VECTOR).prominence, self.of(KEYWORD).words
        if prominence is None or words is None:
            return None
        return Evidence(prominence, words.rarity, words.coverage, words.known, words.lead)

    @property
    def confidence(self) -> Confidence:
        """How sure they are that what they found answers the query, as far as they can tell."""
        return confidence_of(certainty(self.of(VECTOR).standing, self.of(KEYWORD).coverage))

    @property
    def degraded(self) -> tuple[str, ...]:
        reasons = [reason for result in (*self.by_signal.values(), self.neighbours) for reason in result.degraded]
        reasons += [self.links.reason] if isinstance(self.links, Missing) else []
        return tuple(dict.fromkeys((*reasons, *self.slowed_by)))

    def require_an_answer(self) -> None:
        """An empty list must mean that nothing matches, never that nobody could be asked."""
        failed = [result for result in self.by_signal.values() if result.failed]
        if failed and not any(result.candidates for result in self.by_signal.values()):
            raise SearchUnavailable(f"The search could not be answered ({', '.join(self.degraded)}).")


@dataclass(frozen=True, slots=True)
class AskedSignals:
    """A query and what every signal answered to it."""

    request: SearchRequest
    where: MemoryFilter
    results: SignalResults
    asked_at: int
    """What `now` is in every ranking of them."""


@dataclass(frozen=True, slots=True)
class ChunkSimilarities:
    """How near each chunk of some memories is to the query."""

    by_id: Mapping[str, Sequence[float]]
    degraded: tuple[str, ...] = ()


UNKNOWN_SIMILARITIES = ChunkSimilarities({})


@dataclass(frozen=True, slots=True)
class Asking:
    """What a signal is asked with."""

    query: SignalQuery
    inputs: Inputs
    reads: SearchReads
    terms: QueryTerms
    """Of the query, as keywords."""
    tags: tuple[str, ...]
    """Those to be found, if they divide the memories."""
    counting: Awaitable[CorpusStatistics | None]
    """None if nobody needs it, or it is not to be had."""


async def ask(query: SignalQuery, inputs: Inputs, snapshot: Snapshot) -> SignalResults:
    """What every signal of the query says; Outdated if the inputs do not hold for this snapshot."""
    text = without_time(query.text, query.time) if query.time else query.text
    terms = query_terms(text) if KEYWORD in query.signals else NO_TERMS
    tags = _tags_to_find(query, inputs.tags) if TAG in query.signals else ()
    counting = snapshot.start(_counted(query, terms, tags, snapshot.reads))  # once, for whoever needs it
    checking = snapshot.start(_tags_hold(query, inputs, snapshot.reads))
    asking = Asking(query, inputs, snapshot.reads, terms, tags, counting)
    asked = {name: snapshot.start(ASKED[name](asking)) for name in SIGNALS if name in query.signals}
    counted, baseline = await counting, inputs.baseline
    memories = None if counted is None else counted.memories
    outgrown = isinstance(baseline, SimilarityBaseline) and memories is not None and not baseline.holds_for(memories)
    if not inputs.is_final and (outgrown or not await checking):
        raise Outdated(memories)
    found = {name: await result for name, result in asked.items()}
    return SignalResults(found, memories or UNKNOWN_CORPUS_SIZE, time=query.time)


async def ask_neighbours(content_hashes: Sequence[str], where: MemoryFilter, reads: SearchReads) -> SignalResult:
    """The memories next to these in their sessions."""
    found = await _answered(reads.adjacent(content_hashes, MAX_NEIGHBOURS, where), "neighbours_unavailable")
    return _failed(found) if isinstance(found, Missing) else SignalResult(found)


async def ask_links(
    fused: Fused, where: MemoryFilter, policy: RankingPolicy, reads: SearchReads, *, brings_in: bool
) -> Links | Missing | None:
    """Where the best of a ranking lead; None if nowhere."""
    ids, places = fused.pool.content_hashes, fused.order[:LEADERS]
    leading: list[int] = places.tolist()
    asked = list(ids.take(places)) if isinstance(ids, Digests) else [ids[place] for place in leading]
    hops: list[Sequence[Linked]] = []
    for _ in range(policy.graph_hops if policy.graph_form == "decay" else 1):
        found = await _answered(reads.linked(asked, MAX_LINKED, where), "graph_unavailable")
        if isinstance(found, Missing):
            return found
        if not found:
            break
        hops.append(found)
        reached = dict.fromkeys(linked.candidate.content_hash for linked in found)
        asked = [each for each in reached if each not in asked][:LEADERS]
    return Links(fused.pool.take(places), tuple(hops), policy, brings_in) if hops else None


async def ask_chunks(vector: Vector, memories: Sequence[Memory], reads: SearchReads) -> ChunkSimilarities:
    """How near the chunks of these memories are to the query."""
    found: dict[str, list[float]] = {}
    for namespace in dict.fromkeys([memory.namespace for memory in memories]):
        ids = [memory.content_hash for memory in memories if memory.namespace == namespace]
        answer = await _answered(reads.chunk_similarities(vector, namespace, ids), "chunk_similarities_unavailable")
        if isinstance(answer, Missing):
            return ChunkSimilarities({}, (answer.reason,))
        found |= answer
    return ChunkSimilarities(found)


async def _ask_vectors(asking: Asking) -> SignalResult:
    query, vector, baseline = asking.query, asking.inputs.vector, asking.inputs.baseline
    lacking = (baseline.reason,) if isinstance(baseline, Missing) else ()  # what was found stays
    if not isinstance(vector, QueryVector):
        return _failed(vector or Missing("embedder_unavailable"), *lacking)
    if isinstance(vector.expansion, Missing):
        lacking = (vector.expansion.reason, *lacking)
    covered = baseline.covered if isinstance(baseline, SimilarityBaseline) else 1.0
    if covered < 1.0:
        lacking = ("vectors_incomplete", *lacking)
    try:
        found = await _retrieved(asking, vector.asked, query.vector_limit)
        # Alpha and confidence are those of the query as it was asked.
        best = found if vector.asked is vector.plain else await _retrieved(asking, vector.plain, LED + 1)
    except InvalidVector as error:  # not what this store was made with
        return SignalResult(degraded=(note("embedder_unavailable", error), *lacking), failed=True, refused=True)
    if isinstance(found, Missing) or isinstance(best, Missing):
        return _failed(Missing("vector_search_unavailable"), *lacking)
    prominence, standing = await _weighed(asking, vector.plain, best.scores)
    if query.min_similarity is not None:
        found = found.take((found.scores >= query.min_similarity).nonzero()[0])
    return SignalResult(
        found,
        lacking,
        terms=vector.terms,
        prominence=prominence,
        standing=standing,
        vector=vector.plain,
        covered=covered,
    )


async def _retrieved(asking: Asking, vector: Vector, limit: int) -> Candidates | Missing:
    found = await _answered(asking.reads.retrieve(vector, limit, asking.query.where), "vector_search_unavailable")
    return found if isinstance(found, Missing) else Candidates.of(found)


async def _weighed(asking: Asking, vector: Vector, best: Scores) -> tuple[float | None, VectorStanding | None]:
    """How far the best similarities to a vector stand out, if that can be told, and what they are worth."""
    baseline, counted = asking.inputs.baseline, await asking.counting
    prominence, chance, sampled = None, NO_CHANCE, 0
    if isinstance(baseline, SimilarityBaseline) and best.size and counted and counted.memories:
        chance, sampled = baseline.chance(vector), len(baseline.sample.vectors)
        prominence = baseline.prominence(chance, float(best[0]), counted.memories)
    return prominence, vector_standing(best, chance.mean, sampled)


async def _ask_words(asking: Asking) -> SignalResult:
    query, terms = asking.query, asking.terms
    search = asking.reads.search_by_text(terms, query.lexical_limit, query.where)
    matches = await _answered(search, "keyword_search_unavailable")
    if isinstance(matches, Missing):
        return _failed(matches)
    counted, words = await asking.counting, terms.all_words
    if counted is None or not query.weighs_evidence:
        return SignalResult(matches.candidates, coverage=word_coverage(words, matches.best_has, {}))
    weights = dict(zip(terms.words, terms.weights, strict=False))
    # Parts of addresses count less here too, but a word that is said twice is still one.
    frequencies = {
        word: min(1.0, weights.get(word, 1.0)) * odds_against(counted.memories, having)
        for word, having in counted.having_word.items()
    }
    evidence = None
    if counted.memories:
        known = {word for word, having in counted.having_word.items() if having}
        scores = Candidates.of(matches.candidates).scores
        evidence = word_evidence(words, matches.best_has, known, frequencies, counted.memories, scores)
    coverage = word_coverage(words, matches.best_has, frequencies)
    return SignalResult(matches.candidates, words=evidence, coverage=coverage)


async def _ask_tags(asking: Asking) -> SignalResult:
    query, known = asking.query, asking.inputs.tags
    degraded = (known.reason,) if isinstance(known, Missing) else ()
    counts, memories = await _having_tags(asking)
    if query.extract_tags and not query.every_tag:
        counts = dividing_tags(counts, memories)
    found: Sequence[Candidate] | Missing = ()
    if counts:
        search = asking.reads.search_by_tag(tag_weights(counts, memories), query.lexical_limit, query.where)
        found = await _answered(search, "tag_search_unavailable")
    if await asking.counting is None:
        degraded = (*degraded, "corpus_size_unavailable")
    if isinstance(found, Missing):
        return SignalResult(degraded=(*degraded, found.reason), failed=True, terms=tuple(counts))
    return SignalResult(as_rare_as_they_are_few(found, memories), degraded, terms=tuple(counts))


async def _having_tags(asking: Asking) -> tuple[dict[str, int], int]:
    """How many memories have each tag to be found, and how many there are. Of a whole namespace both are known, so that
    a store over a network is neither asked nor waited for; they stand in where a filter could not be counted."""
    query, known = asking.query, asking.inputs.tags
    if not query.where.has_whole_namespace:
        counted = await asking.counting
        if counted is not None:
            # A tag that the filter leaves nobody with is none that the query names.
            having = {tag: n for tag, n in counted.having_tag.items() if n or not query.extract_tags}
            return having, counted.memories
    per_tag: Mapping[str, int] = known.memories_per_tag if isinstance(known, KnownTags) else {}
    memories = known.memories if isinstance(known, KnownTags) else None
    if memories is None:
        counted = await asking.counting
        memories = UNKNOWN_CORPUS_SIZE if counted is None else counted.memories
    return {tag: per_tag.get(tag, 0) for tag in asking.tags}, memories


def _tags_to_find(query: SignalQuery, known: KnownTags | Missing | None) -> tuple[str, ...]:
    """The caller's, else those that the query names, else (no list to be had) its words."""
    if not query.extract_tags:
        return query.where.tags
    return tuple(extract_query_keywords(query.text, known.vocabulary if isinstance(known, KnownTags) else None))


Ask: TypeAlias = Callable[[Asking], Coroutine[Any, Any, SignalResult]]
ASKED: Mapping[str, Ask] = {VECTOR: _ask_vectors, KEYWORD: _ask_words, TAG: _ask_tags}


async def _counted(
    query: SignalQuery, terms: QueryTerms, tags: Sequence[str], reads: SearchReads
) -> CorpusStatistics | None:
    if not (TAG in query.signals or query.weighs_evidence):
        return None
    words = terms.all_words if query.weighs_evidence else ()
    tags = () if query.where.has_whole_namespace else tags
    counted = await _answered(reads.corpus_statistics(query.where, words, tags), "corpus_size_unavailable")
    return None if isinstance(counted, Missing) else counted


async def _tags_hold(query: SignalQuery, inputs: Inputs, reads: SearchReads) -> bool:
    if inputs.is_final or not isinstance(inputs.tags, KnownTags):
        return True
    version = await _answered(reads.tags_version(query.where.namespace), "tag_list_unavailable")
    return version == inputs.tags.version


def _failed(missing: Missing, *also: str) -> SignalResult:
    return SignalResult(degraded=(missing.reason, *also), failed=True)


async def _answered(read: Coroutine[Any, Any, T], reason: str) -> T | Missing:
    try:
        return await read
    except Unavailable as error:
        return Missing(note(reason, error))
