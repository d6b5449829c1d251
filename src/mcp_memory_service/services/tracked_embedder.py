"""An embedder that remembers how its last call went, so that health can be told without asking it again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ..embeddings.base import Embedder
from ..errors import EmbedderUnavailable
from ..models import Vector

T = TypeVar("T")

WARM_UP_TIMEOUT_SECONDS = 10.0
BELIEVED_SECONDS = 10.0
"""So long after an answer it is taken to be well."""


class TrackedEmbedder:
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

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._tracked(self._embedder.embed(texts))

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
