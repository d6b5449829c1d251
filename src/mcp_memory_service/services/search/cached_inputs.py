"""What a search needs before the store is asked: the vector of the query, the known tags, and what similarity to expect
by chance. All of it is kept between searches, so that most have nothing to wait for."""

import asyncio
import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...embeddings.base import Embedder
from ...errors import Unavailable
from ...hybrid_search import TAG, VECTOR, TagVocabulary, vector_prominence
from ...hybrid_search.columns.candidates import mean_and_deviation
from ...hybrid_search.concepts import expanded_query
from ...lru import LruCache
from ...models import MemoryFilter, Vector, VectorSample, fold_tag
from ...single_flight import SingleFlight
from ...storage.ports import Store
from .concepts import Concepts
from .query import Expansion, Missing, QueryVector, SignalQuery, note

TAG_LIST_TIMEOUT_SECONDS = 2.0
# An embedding server that hangs must not hold a search that tags and words can answer.
EMBED_TIMEOUT_SECONDS = 10.0
TAGS_KEPT_SECONDS = 60.0
# 1.6 MB with the local model (384 numbers each): far more queries than agents page through or retry at one time.
MAX_QUERY_VECTORS = 1024
MAX_NAMESPACES = 64
"""Of so many the caches are kept: with the local model, the sample of vectors takes up to 1.5 MB of each."""
MAX_FILTERED_SAMPLES = 32
"""And of so many filters, of all namespaces together."""
# The mean of so many similarities is known to 3 % of their deviation, the deviation itself to 2 %.
SAMPLED_VECTORS = 1000
# So large a part of the memories may come or go before the sample is drawn anew: it moves mean and deviation by less
# than a sample can tell. Below a hundred memories that is any change at all.
UNNOTICED_SHARE = 0.01
# While vectors of more than that are still to come, the sample is drawn anew after so long: their number says nothing.
DRAWN_EVERY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class KnownTags:
    vocabulary: TagVocabulary
    memories_per_tag: Mapping[str, int]
    """By folded tag."""
    memories: int | None
    """How many there were in all; None if they could not be counted."""
    version: int
    """Of the tags, as the store counts it."""


class Chance(NamedTuple):
    """The similarities of a query to what is stored, whatever it says."""

    mean: float
    deviation: float


NO_CHANCE = Chance(0.0, 0.0)
"""Of no vectors."""


@dataclass(frozen=True, slots=True)
class SimilarityBaseline:
    """What similarity to expect by chance: a query against a sample of the stored vectors."""

    sample: VectorSample
    expires: float = math.inf
    """When it is drawn anew whatever the number of memories is."""

    @property
    def covered(self) -> float:
        """The share of the memories that vectors can find, as long as those of the others are still to come."""
        sample = self.sample
        more_to_come = sample.awaiting_vectors > UNNOTICED_SHARE * sample.drawn_from
        return 1.0 - sample.awaiting_vectors / sample.drawn_from if more_to_come else 1.0

    def holds_for(self, corpus_size: int) -> bool:
        drawn_from = self.sample.drawn_from
        return abs(corpus_size - drawn_from) <= UNNOTICED_SHARE * drawn_from

    def chance(self, query_vector: Vector) -> Chance:
        if self.sample.memories == 0:
            return NO_CHANCE
        # Row by row, each too short for BLAS to take threads: a product with the whole matrix takes all cores, and
        # searches that come together then wait for each other.
        mean, deviation = mean_and_deviation(np.vecdot(self.sample.vectors, query_vector))
        return Chance(float(mean), float(deviation))

    def prominence(self, chance: Chance, best: float, corpus_size: int) -> float:
        """How far the best similarity stands out among all vectors of the corpus."""
        vectors = round(corpus_size * len(self.sample.vectors) / max(1, self.sample.memories))
        return vector_prominence(best, chance.mean, chance.deviation, vectors)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a search is prepared with; None stands for what it does not need."""

    vector: QueryVector | Missing | None
    tags: KnownTags | Missing | None
    baseline: SimilarityBaseline | Missing | None
    is_final: bool = False
    """Whether the search goes on with them even if the store has changed since."""


class QueryVectors:
    """The vectors of the last queries: pages, retries and several agents ask the same again, and the model answers
    once. Queries are kept as digests: they are private, and may be long."""

    def __init__(self, embedder: Embedder, limit: int = MAX_QUERY_VECTORS) -> None:
        self._embedder = embedder
        self._known: LruCache[bytes, Vector] = LruCache(limit)
        self._embedding: SingleFlight[bytes, Vector] = SingleFlight()

    async def vector(self, query: str) -> Vector:
        key = hashlib.sha256(query.encode()).digest()
        known = self._known.get(key)
        if known is not None:
            return known
        return await self._embedding.run(key, lambda: self._embedded(key, query))

    def forget(self, query: str) -> None:
        """For a vector that turned out to be of no use."""
        self._known.forget(hashlib.sha256(query.encode()).digest())

    async def _embedded(self, key: bytes, query: str) -> Vector:
        embedded = await self._embedder.embed_query(query)
        vector = np.array(embedded)  # a copy: it may be one row of a batch, and must not keep the others
        vector.setflags(write=False)
        self._known.put(key, vector)
        return vector


class TagCache:
    """The tags of a namespace, kept until they change. A new tag is seen by the next search, whichever process wrote
    it; how many memories there are, and how many carry a tag, may be a minute old if other processes write."""

    def __init__(self, storage: Store, namespace: str, monotonic_seconds: Callable[[], float]) -> None:
        self._storage = storage
        self._namespace = namespace
        self._seconds = monotonic_seconds
        self._known: KnownTags | None = None
        self._expires = 0.0
        self.writes = 0
        """How many changes of this service may have changed them."""

    def remembered(self) -> KnownTags | None:
        """What was known last; whether its version is still that of the store is for the search to see."""
        return self._known if self._seconds() < self._expires else None

    async def tags(self) -> KnownTags:
        version = await self._storage.tags_version(self._namespace)
        remembered = self.remembered()
        if remembered is not None and version == remembered.version:
            return remembered
        writes_before = self.writes
        tags, memories = await asyncio.gather(self._storage.get_all_tags(self._namespace), self._counted())
        counts = {fold_tag(tag.tag): tag.memories for tag in tags}
        known = KnownTags(await asyncio.to_thread(TagVocabulary, counts), counts, memories, version)
        # A write that came in meanwhile may or may not be in this list: use it once, keep it not.
        if self.writes == writes_before:
            self._known, self._expires = known, self._seconds() + TAGS_KEPT_SECONDS
        return known

    def forget(self) -> None:
        self.writes += 1
        self._known = None

    async def _counted(self) -> int | None:
        try:
            return await self._storage.count_all_memories(self._namespace)
        except Unavailable:  # told by the search, which counts for itself
            return None


class BaselineCache:
    """Keeps baselines until the number of memories has changed by more than a hundredth, so that a search does not pay
    for each write: that of the namespace, and those of the filters that were used last."""

    def __init__(
        self,
        storage: Store,
        filtered: LruCache[MemoryFilter, SimilarityBaseline],
        monotonic_seconds: Callable[[], float],
    ) -> None:
        self._storage = storage
        self._seconds = monotonic_seconds
        self._drawing: SingleFlight[MemoryFilter, SimilarityBaseline] = SingleFlight()
        self._of_namespace: SimilarityBaseline | None = None
        self._filtered = filtered

    def remembered(self, where: MemoryFilter) -> SimilarityBaseline | None:
        """What was drawn last; whether it still holds is for the search to see."""
        known = self._of_namespace if where.has_whole_namespace else self._filtered.get(_but_for_after(where))
        return known if known is not None and self._seconds() < known.expires else None

    async def baseline(self, where: MemoryFilter, corpus_size: int | None) -> SimilarityBaseline:
        """Of about so many memories, or as it was drawn last if their number is not known."""
        known = self.remembered(where)
        if known is not None and (corpus_size is None or known.holds_for(corpus_size)):
            return known
        return await self._drawing.run(where.corpus, lambda: self._drawn(where))

    async def _drawn(self, where: MemoryFilter) -> SimilarityBaseline:
        sample = await self._storage.sample_vectors(where, SAMPLED_VECTORS)
        drawn = SimilarityBaseline(sample)
        if drawn.covered < 1.0:
            drawn = SimilarityBaseline(sample, self._seconds() + DRAWN_EVERY_SECONDS)
        if where.has_whole_namespace:
            self._of_namespace = drawn
        else:
            self._filtered.put(_but_for_after(where), drawn)
        return drawn


def _but_for_after(where: MemoryFilter) -> MemoryFilter:
    """`after=7d` is another moment in every search. Of two such corpora one has all of the other: if they are about as
    large, they are about the same, and the number tells whether a baseline holds."""
    return replace(where.corpus, after=None)


class SharedInputs:
    """What the inputs of all namespaces share: the vectors of queries, the room for samples of filters, and what keeps
    the vocabularies of namespaces, if queries are expanded here."""

    def __init__(self, embedder: Embedder, concepts: Concepts | None = None) -> None:
        self.concepts = concepts
        self.query_vectors = QueryVectors(embedder)
        self.filtered: LruCache[MemoryFilter, SimilarityBaseline] = LruCache(MAX_FILTERED_SAMPLES)
        """By what `_but_for_after` leaves of a filter."""


class CachedInputs:
    """Of one namespace."""

    def __init__(
        self, storage: Store, shared: SharedInputs, namespace: str, monotonic_seconds: Callable[[], float]
    ) -> None:
        self._query_vectors = shared.query_vectors
        self._concepts = shared.concepts
        self.tags = TagCache(storage, namespace, monotonic_seconds)
        self._baselines = BaselineCache(storage, shared.filtered, monotonic_seconds)

    async def prepare(self, query: SignalQuery, vector: QueryVector | None = None) -> Inputs:
        """With what is known from before, as far as there is any; and with this vector, if there is one."""
        tags = (self.tags.remembered() or await self._known_tags()) if TAG in query.signals else None
        baseline = None
        if VECTOR in query.signals and query.weighs_evidence:
            baseline = self._baselines.remembered(query.where) or await self._baseline(query.where, None)
        if VECTOR not in query.signals:
            return Inputs(None, tags, baseline)
        return Inputs(vector or await self.query_vector(query), tags, baseline)

    async def prepare_anew(self, query: SignalQuery, outdated: Inputs, corpus_size: int | None) -> Inputs:
        """After what was known of the store turned out to be outdated; the vector of the query holds."""
        tags, baseline = outdated.tags, outdated.baseline
        if tags is not None:
            tags = await self._known_tags()
        if baseline is not None:
            baseline = await self._baseline(query.where, corpus_size)
        return replace(outdated, tags=tags, baseline=baseline, is_final=True)

    def forget_vector(self, query: str) -> None:
        """It is not what this store was made with."""
        self._query_vectors.forget(query)

    async def query_vector(self, query: SignalQuery) -> QueryVector | Missing:
        """With that of the expanded query, if there are terms to add."""
        plain = await self._vector(query.text, "embedder_unavailable")
        if isinstance(plain, Missing) or not query.expands or self._concepts is None:
            return plain if isinstance(plain, Missing) else QueryVector(plain)
        try:
            terms = await self._concepts.nearest(query.where.namespace, query.text, plain)
        except Unavailable as error:
            terms = Missing(note("query_expansion_unavailable", error))
        if isinstance(terms, Missing):
            return QueryVector(plain, terms)
        if not terms:
            return QueryVector(plain)
        vector = await self._vector(expanded_query(query.text, terms), "query_expansion_unavailable")
        return QueryVector(plain, vector if isinstance(vector, Missing) else Expansion(terms, vector))

    async def _vector(self, text: str, reason: str) -> Vector | Missing:
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_SECONDS):
                return await self._query_vectors.vector(text)
        except (Unavailable, TimeoutError) as error:
            return Missing(note(reason, error))

    async def _known_tags(self) -> KnownTags | Missing:
        try:
            async with asyncio.timeout(TAG_LIST_TIMEOUT_SECONDS):
                return await self.tags.tags()
        except (Unavailable, TimeoutError) as error:
            return Missing(note("tag_list_unavailable", error))

    async def _baseline(self, where: MemoryFilter, corpus_size: int | None) -> SimilarityBaseline | Missing:
        try:
            return await self._baselines.baseline(where, corpus_size)
        except Unavailable as error:
            return Missing(note("evidence_unavailable", error))
