"""Working stand-ins: embedders that need no model, and stores in front of others."""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Never, TypeAlias, TypeVar, cast

import numpy as np

from mcp_memory_service.errors import EmbedderUnavailable, RerankerUnavailable, StorageUnavailable
from mcp_memory_service.hybrid_search.text.words import split_words
from mcp_memory_service.models import Vector
from mcp_memory_service.storage.ports import SearchWork, Store
from mcp_memory_service.storage.scheduling import Concurrent

T = TypeVar("T")
Method: TypeAlias = Callable[..., Awaitable[Any]]


class WordEmbedder:
    """Bag of hashed words: texts that share words are near, and nothing else is."""

    model_id = "words-64"
    dimension = 64
    max_tokens: int | None = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self.vector(text) for text in texts]

    async def embed_query(self, query: str) -> Vector:
        (vector,) = await self.embed([query])
        return vector

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


class MeaningEmbedder(WordEmbedder):
    """Words of one group are near each other as well; remembers what it was given, and can be switched off."""

    def __init__(self, *groups: Sequence[str]) -> None:
        self._groups = {word: f"group{number}" for number, group in enumerate(groups) for word in group}
        self.embedded: list[str] = []
        self.is_down = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.is_down:
            raise EmbedderUnavailable("The embedding server is down.")
        self.embedded += texts
        return [self.vector(" ".join((text, *self._meanings(text)))) for text in texts]

    def _meanings(self, text: str) -> list[str]:
        return [self._groups[word] for word in split_words(text) if word in self._groups]


class _Front:
    """Does some things its own way, and leaves the rest to the store behind it."""

    def __init__(self, behind: Store, own: Mapping[str, Method]) -> None:
        self._behind = behind
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return self._own.get(name) or getattr(self._behind, name)

    async def search(self, work: SearchWork[T], *, part_by_part: bool = False) -> T:
        """Its reads are those of the front."""
        return await Concurrent().run(cast("Store", self), work)


def in_front_of(behind: Store, **own: Method) -> Store:
    """A store with some methods in place of those of the one behind it."""
    return cast("Store", _Front(behind, own))


def partly_broken(behind: Store, *broken: str) -> Store:
    """The same store with the named methods raising StorageUnavailable."""

    def unavailable(name: str) -> Method:
        async def method(*_: object) -> Never:
            raise StorageUnavailable(f"{name} does not answer.")

        return method

    return in_front_of(behind, **{name: unavailable(name) for name in broken})


def counted(method: Method, calls: Counter[str]) -> Method:
    """The same method, noting by its name how often it is called."""

    async def noting(*arguments: Any) -> Any:
        calls[method.__name__] += 1
        return await method(*arguments)

    return noting


class WordReranker:
    """Scores a text by the share of its words that the query has: short ones that say nothing else come first."""

    model_id = "words"

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        wanted = set(split_words(query))
        return [len(wanted & set(split_words(text))) / max(1, len(split_words(text))) for text in texts]

    async def warm_up(self) -> None:
        await self.scores("warm up", ["warm up"])

    async def close(self) -> None:
        pass


class BrokenReranker(WordReranker):
    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        raise RerankerUnavailable("The re-ranking server is down.")
