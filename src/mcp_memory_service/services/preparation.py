"""What a search needs before the store is asked: the vector of the query, the known tags, and what similarity to expect
by chance. All of it is kept between searches, so that most have nothing to wait for."""

import asyncio

from ..embeddings.base import Embedder
from ..errors import Unavailable
from ..hybrid_search import TAG, VECTOR
from ..models import Vector
from ..storage.base import MemoryStorage
from .query_vectors import QueryVectors
from .signals import Missing, Prepared, Question, note
from .tag_cache import KnownTags, TagCache
from .vector_background import Background, VectorBackground

TAG_LIST_TIMEOUT_SECONDS = 2.0
# An embedding server that hangs must not hold a search that tags and words can answer.
EMBED_TIMEOUT_SECONDS = 10.0


class Preparation:
    def __init__(self, storage: MemoryStorage, embedder: Embedder, tags: TagCache) -> None:
        self._query_vectors = QueryVectors(embedder)
        self._tags = tags
        self._background = VectorBackground(storage, tags.namespace)

    async def prepare(self, question: Question) -> Prepared:
        """With what is known from before, as far as there is any."""
        tags = (self._tags.remembered() or await self._known_tags()) if TAG in question.wanted else None
        return await self._completed(question, tags, tags.memories if isinstance(tags, KnownTags) else None)

    async def prepare_anew(self, question: Question, corpus_size: int | None) -> Prepared:
        """After what was known turned out to be outdated."""
        tags = await self._known_tags() if TAG in question.wanted else None
        return await self._completed(question, tags, corpus_size)

    def forget_vector(self, query: str) -> None:
        self._query_vectors.forget(query)

    async def _completed(
        self, question: Question, tags: KnownTags | Missing | None, corpus_size: int | None
    ) -> Prepared:
        compares = VECTOR in question.wanted
        background = await self._current_background(corpus_size) if compares and question.weighs_evidence else None
        return Prepared(await self._vector(question.query) if compares else None, tags, background)

    async def _vector(self, query: str) -> Vector | Missing:
        try:
            async with asyncio.timeout(EMBED_TIMEOUT_SECONDS):
                return await self._query_vectors.vector(query)
        except (Unavailable, TimeoutError) as error:
            return Missing(note("embedder_unavailable", error))

    async def _known_tags(self) -> KnownTags | Missing:
        try:
            async with asyncio.timeout(TAG_LIST_TIMEOUT_SECONDS):
                return await self._tags.tags()
        except (Unavailable, TimeoutError) as error:
            return Missing(note("tag_list_unavailable", error))

    async def _current_background(self, corpus_size: int | None) -> Background | Missing:
        try:
            return await self._background.current(corpus_size)
        except Unavailable as error:
            return Missing(note("evidence_unavailable", error))
