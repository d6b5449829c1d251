"""Whether storing and searching would work now."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from ..embeddings.base import Embedder
from ..errors import EmbedderUnavailable, MemoryServiceError
from ..models import Vector
from ..single_flight import SingleFlight
from ..storage.ports import StoreHealth

T = TypeVar("T")

WARM_UP_TIMEOUT_SECONDS = 10.0
BELIEVED_SECONDS = 10.0
"""So long after an answer the embedder is taken to be well."""


@dataclass(frozen=True, slots=True)
class Health:
    """`problems` says what is wrong, by stable code."""

    can_store: bool
    can_search: bool
    problems: Mapping[str, str]

    @property
    def ready(self) -> bool:
        """Both, and nothing is left out of either."""
        return not self.problems


class TrackedEmbedder:
    """An embedder that remembers how its last call went, so that health can be told without asking it again."""

    def __init__(self, embedder: Embedder, monotonic_seconds: Callable[[], float]) -> None:
        self._embedder = embedder
        self.problem: str | None = "The embedding model is not loaded yet."
        self._monotonic_seconds = monotonic_seconds
        self._answered_at = float("-inf")

    @property
    def is_in_doubt(self) -> bool:
        """Whether it failed when it was last asked, or was not asked for a while."""
        return self.problem is not None or self._monotonic_seconds() - self._answered_at > BELIEVED_SECONDS

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimension(self) -> int | None:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int | None:
        return self._embedder.max_tokens

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._tracked(self._embedder.embed(texts))

    async def embed_query(self, query: str) -> Vector:
        return await self._tracked(self._embedder.embed_query(query))

    async def warm_up(self) -> None:
        await self._tracked(asyncio.wait_for(self._embedder.warm_up(), WARM_UP_TIMEOUT_SECONDS))

    async def close(self) -> None:
        await self._embedder.close()

    async def _tracked(self, call: Awaitable[T]) -> T:
        try:
            answer = await call
        except EmbedderUnavailable as error:
            self.problem = error.message
            raise
        except TimeoutError as error:
            self.problem = "The embedding model does not answer in time."
            raise EmbedderUnavailable(self.problem) from error
        self.problem = None
        self._answered_at = self._monotonic_seconds()
        return answer


class HealthCheck:
    """Tries storing and searching. Who asks while it is being found out gets the same answer."""

    def __init__(self, storage: StoreHealth, embedder: TrackedEmbedder) -> None:
        self._storage = storage
        self._embedder = embedder
        self._checking: SingleFlight[str, Health] = SingleFlight()

    async def run(self) -> Health:
        return await self._checking.run("health", self._checked)

    async def warm_up(self) -> None:
        """Load the embedding model, so that the first request does not wait for it; a failure shows in the health."""
        with suppress(EmbedderUnavailable):
            await self._embedder.warm_up()

    async def _checked(self) -> Health:
        """The embedder is tried too, unless it answered a moment ago. Without it, words and tags are searched."""
        problems: dict[str, str] = {}
        if self._embedder.is_in_doubt:
            await self.warm_up()
        if self._embedder.problem:
            problems["embedder_unavailable"] = self._embedder.problem
        searching, writing = await asyncio.gather(
            _failure(self._storage.check_search()), _failure(self._storage.check_write())
        )
        problems |= {error.code: error.message for error in (writing, searching) if error}
        return Health(
            can_store=not (writing or self._embedder.problem), can_search=searching is None, problems=problems
        )


async def _failure(check: Awaitable[None]) -> MemoryServiceError | None:
    try:
        await check
    except MemoryServiceError as error:
        return error
    return None
