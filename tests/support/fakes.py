"""Working stand-ins: embedders that need no model, and a store whose parts can be made to fail."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from mcp_memory_service.errors import EmbedderUnavailable, StorageUnavailable
from mcp_memory_service.hybrid_search.text.words import split_words
from mcp_memory_service.models import Candidate, MemoryFilter, QueryTerms, TagCount, TextMatches, Vector, VectorSample
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage


class WordEmbedder:
    """Bag of hashed words: texts that share words are near, and nothing else is."""

    model_id = "words-64"
    dimension = 64

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self.vector(text) for text in texts]

    @classmethod
    def vector(cls, text: str) -> Vector:
        vector = np.full(cls.dimension, 0.01, dtype=np.float32)
        for word in split_words(text):
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % cls.dimension] += 1.0
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    async def warm_up(self) -> None:
        pass

    async def close(self) -> None:
        pass


class BrokenEmbedder(WordEmbedder):
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbedderUnavailable("The embedding server is down.")

    async def warm_up(self) -> None:
        await self.embed(["warm up"])


class PartlyBrokenStorage(SqliteVecStorage):
    """The same store once more, with the named methods raising StorageUnavailable."""

    def __init__(self, storage: SqliteVecStorage, *broken: str) -> None:
        super().__init__(storage._threads, storage._model_id, storage._analyze)
        self._broken = frozenset(broken)

    def _check(self, name: str) -> None:
        if name in self._broken:
            raise StorageUnavailable(f"{name} does not answer.")

    async def retrieve(self, query_vector: Vector, limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        self._check("retrieve")
        return await super().retrieve(query_vector, limit, where)

    async def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        self._check("search_by_tag")
        return await super().search_by_tag(weights, limit, where)

    async def search_by_text(self, terms: QueryTerms, limit: int, where: MemoryFilter) -> TextMatches:
        self._check("search_by_text")
        return await super().search_by_text(terms, limit, where)

    async def get_all_tags(self, namespace: str) -> list[TagCount]:
        self._check("get_all_tags")
        return await super().get_all_tags(namespace)

    async def tags_version(self, namespace: str) -> int:
        self._check("get_all_tags")
        return await super().tags_version(namespace)

    async def count_all_memories(self, namespace: str) -> int:
        self._check("count_all_memories")
        return await super().count_all_memories(namespace)

    async def adjacent(self, content_hashes: Sequence[str], limit: int, where: MemoryFilter) -> Sequence[Candidate]:
        self._check("adjacent")
        return await super().adjacent(content_hashes, limit, where)

    async def sample_vectors(self, namespace: str, limit: int) -> VectorSample:
        self._check("sample_vectors")
        return await super().sample_vectors(namespace, limit)

    async def inverse_document_frequencies(self, words: Sequence[str]) -> dict[str, float]:
        self._check("inverse_document_frequencies")
        return await super().inverse_document_frequencies(words)

    async def check_search(self) -> None:
        self._check("check_search")
        await super().check_search()

    async def check_write(self) -> None:
        self._check("check_write")
        await super().check_write()
