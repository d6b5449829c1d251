"""Vectors to compare a query with by chance: read seldom, for they are many numbers to send."""

import asyncio
import time
from dataclasses import replace

import numpy as np
from qdrant_client import models

from ....lru import LruCache
from ....models import MemoryFilter, Vector, VectorSample
from ..connection import QdrantConnection
from ..corpus_stats import CorpusSizes
from ..filters import passing
from .reads import NO_VECTORS, scrolled, vectors_of

KEPT_SECONDS = 600.0
# A sample tells the mean and the deviation of similarities, which so small a change of the corpus hardly moves.
NOTICEABLE_CHANGE = 0.1
MAX_SAMPLES = 64
"""1.5 MB each with the local model; the service keeps as many namespaces, and half as many filters."""


class VectorSamples:
    def __init__(self, connection: QdrantConnection, sizes: CorpusSizes) -> None:
        self._connection = connection
        self._sizes = sizes
        self._kept: LruCache[tuple[MemoryFilter, int], tuple[VectorSample, float]] = LruCache(MAX_SAMPLES)

    async def of(self, where: MemoryFilter, limit: int) -> VectorSample:
        """The same sample until a tenth of the memories with vectors has come or gone, or ten minutes have passed."""
        key, waits = (where.corpus, limit), passing(where.corpus, NO_VECTORS)
        memories, waiting = await asyncio.gather(self._sizes.of(where), self._connection.count(waits))
        kept = self._kept.get(key)
        if kept is not None:
            sample, expires = kept
            embedded = sample.drawn_from - sample.awaiting_vectors
            change = abs(memories - waiting - embedded)
            if change <= embedded * NOTICEABLE_CHANGE and time.monotonic() < expires:
                return replace(sample, drawn_from=memories, awaiting_vectors=waiting)
        sample = await self._draw(where.corpus, limit, memories, waiting)
        self._kept.put(key, (sample, time.monotonic() + KEPT_SECONDS))
        return sample

    async def _draw(self, where: MemoryFilter, limit: int, drawn_from: int, waiting: int) -> VectorSample:
        """The first ones by point id: it is a digest, so its order has nothing to do with what a memory says."""
        rows: list[Vector] = []
        memories = 0
        having_some = models.Filter(must=[passing(where)], must_not=[NO_VECTORS] if waiting else None)
        async for record in scrolled(self._connection, having_some, [], vectors=True):
            memories += 1
            rows += vectors_of(record)
            if len(rows) >= limit:
                break
        vectors = np.array(rows[:limit], dtype=np.float32)
        return VectorSample(memories, vectors.reshape(len(vectors), -1 if rows else 0), drawn_from, waiting)
