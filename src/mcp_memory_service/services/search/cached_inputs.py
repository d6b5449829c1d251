"""What a search needs before the store is asked: the vector of the query, the known tags, and what similarity to expect
by chance. All of it is kept between searches, so that most have nothing to wait for."""

import asyncio
from dataclasses import replace

from ...embeddings.base import Embedder
from ...errors import Unavailable
from ...hybrid_search import TAG, VECTOR
from ...models import Vector
from ...storage.ports import Store
from .query_vectors import QueryVectors
from .signals import Missing, Prepared, Question, note
from .similarity_baseline import SimilarityBaseline, SimilarityBaselines
from .tag_cache import KnownTags, TagCache

TAG_LIST_TIMEOUT_SECONDS = 2.0
# An embedding server that hangs must not hold a search that tags and words can answer.
EMBED_TIMEOUT_SECONDS = 10.0


class Preparation:
    def __init__(self, storage: Store, embedder: Embedder, tags: TagCache) -> None:
        self._query_vectors = QueryVectors(embedder)
        self._tags = tags
        self._background = SimilarityBaselines(storage, tags.namespace)

    async def prepare(self, question: Question) -> Prepared:
        """With what is known from before, as far as there is any."""
        tags = (self._tags.remembered() or await self._known_tags()) if TAG in question.wanted else None
        background = None
        if VECTOR in question.wanted and question.weighs_evidence:
            memories = tags.memories if isinstance(tags, KnownTags) else None
            background = self._background.remembered() or await self._current_background(memories)
        vector = await self._vector(question.query) if VECTOR in question.wanted else None
        return Prepared(vector, tags, background)

    async def prepare_anew(self, outdated: Prepared, corpus_size: int | None) -> Prepared:
        """After what was known of the store turned out to be outdated; the vector of the query holds."""
        tags, background = outdated.tags, outdated.background
        if tags is not None:
            tags = await self._known_tags()
        if background is not None:
            background = await self._current_background(corpus_size)
        return replace(outdated, tags=tags, background=background)

    def forget_vector(self, query: str) -> None:
        """It is not what this store was made with."""
        self._query_vectors.forget(query)

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

    async def _current_background(self, corpus_size: int | None) -> SimilarityBaseline | Missing:
        try:
            return await self._background.current(corpus_size)
        except Unavailable as error:
            return Missing(note("evidence_unavailable", error))
