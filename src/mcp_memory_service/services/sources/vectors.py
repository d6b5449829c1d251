"""Vectors for what was stored without them: words are searched at once, meaning follows."""

import asyncio
import logging
from contextlib import suppress

from ...embeddings.base import Embedder
from ...embeddings.chunks import embed_chunks
from ...errors import MemoryServiceError
from ...models import EmbeddedMemory, Progress
from ...storage.ports import Store

logger = logging.getLogger(__name__)

BATCH_MEMORIES = 64
"""Embedded and written at once: a second or two of work, which is all that an interruption loses."""
PAUSE_SECONDS = 30.0
"""After so long a service looks again whether another process has stored something without vectors."""


def unseen(_doing: str, _done: int, _total: int) -> None:
    """The progress of work that nobody watches."""


class VectorBacklog:
    """Of all namespaces of a store; one at a time works it off."""

    def __init__(self, storage: Store, embedder: Embedder) -> None:
        self._storage = storage
        self._embedder = embedder
        self._lock = asyncio.Lock()
        self._awake = asyncio.Event()

    def wake(self) -> None:
        """There is something to do."""
        self._awake.set()

    async def work_off(self, namespace: str | None = None, progress: Progress = unseen, waiting: int = 0) -> int:
        """Give vectors to all memories that have none, of one namespace or of all; returns how many got some. `waiting`
        is how many there are, for the progress."""
        done = 0
        async with self._lock:
            while memories := await self._storage.awaiting_vectors(BATCH_MEMORIES, namespace):
                progress("Embedding chunks", done, max(waiting, done + len(memories)))
                texts = [(memory.heading, memory.content) for memory in memories]
                vectors = await embed_chunks(self._embedder, texts)
                done += await self._storage.add_vectors(
                    [EmbeddedMemory(memory, made) for memory, made in zip(memories, vectors, strict=True)]
                )
        progress("Embedding chunks", done, done)
        return done

    async def work_off_for_ever(self) -> None:
        """For as long as a service lives, whoever stored it."""
        while True:
            self._awake.clear()
            try:
                await self.work_off()
            except MemoryServiceError as error:
                logger.warning("Some memories are still without vectors, which is tried again: %s", error.message)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._awake.wait(), PAUSE_SECONDS)
