"""Vectors to compare a query with by chance: read seldom, for they are many numbers to send."""

import time

import numpy as np

from ....lru import LruCache
from ....models import MemoryFilter, Vector, VectorSample
from ..connection import QdrantConnection
from ..corpus_stats import CorpusSizes
from ..filters import passing
from .reads import scrolled, vectors_of

KEPT_SECONDS = 600.0
# A sample tells the mean and the deviation of similarities, which so small a change of the corpus hardly moves.
NOTICEABLE_CHANGE = 0.1
MAX_SAMPLES = 64
"""1.5 MB each with the local model; the service keeps as many namespaces."""


class VectorSamples:
    def __init__(self, connection: QdrantConnection, sizes: CorpusSizes) -> None:
        self._connection = connection
        self._sizes = sizes
        self._kept: LruCache[tuple[str, int], tuple[VectorSample, int, float]] = LruCache(MAX_SAMPLES)

    async def of(self, namespace: str, limit: int) -> VectorSample:
        """The same sample until a tenth of the memories has come or gone, or ten minutes have passed."""
        memories = await self._sizes.of(namespace)
        kept = self._kept.get((namespace, limit))
        if kept is not None:
            sample, drawn_from, expires = kept
            if abs(memories - drawn_from) <= drawn_from * NOTICEABLE_CHANGE and time.monotonic() < expires:
                return sample
        sample = await self._draw(namespace, limit)
        self._kept.put((namespace, limit), (sample, memories, time.monotonic() + KEPT_SECONDS))
        return sample

    async def _draw(self, namespace: str, limit: int) -> VectorSample:
        """The first ones by point id: it is a digest, so its order has nothing to do with what a memory says."""
        rows: list[Vector] = []
        memories = 0
        async for record in scrolled(self._connection, passing(MemoryFilter(namespace)), [], vectors=True):
            memories += 1
            rows += vectors_of(record)
            if len(rows) >= limit:
                break
        vectors = np.array(rows[:limit], dtype=np.float32)
        return VectorSample(memories, vectors.reshape(len(vectors), -1 if rows else 0))
