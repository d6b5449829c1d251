"""What similarity to expect by chance: a query against a sample of the stored vectors."""

import asyncio

import numpy as np

from ..hybrid_search import vector_prominence
from ..models import Vector, VectorSample
from ..storage.base import MemoryStorage

# The mean of so many similarities is known to 3 % of their deviation, the deviation itself to 2 %.
SAMPLED_VECTORS = 1000

# So large a part of the memories may come or go before the sample is drawn anew: it moves mean and deviation by less
# than a sample can tell. Below a hundred memories that is any change at all.
UNNOTICED_SHARE = 0.01


class VectorBackground:
    """Keeps the sample until the number of memories has changed by more than a hundredth, so that a search does not pay
    for each write; whoever comes while it is read waits for it and does not read it once more."""

    def __init__(self, storage: MemoryStorage, namespace: str) -> None:
        self._storage = storage
        self._namespace = namespace
        self._sample: VectorSample | None = None
        self._drawn_from = -1
        self._drawing = asyncio.Lock()

    async def prominence(self, query_vector: Vector, best: float, corpus_size: int) -> float:
        """How far the best similarity stands out among all vectors of the corpus."""
        sample = await self._current(corpus_size)
        if sample.memories == 0:
            return 1.0
        # Row by row, each too short for BLAS to take threads: a product with the whole matrix takes all cores, and
        # searches that come together then wait for each other.
        similarities = np.vecdot(sample.vectors, query_vector)
        vectors = round(corpus_size * len(sample.vectors) / sample.memories)
        return vector_prominence(best, float(similarities.mean()), float(similarities.std()), vectors)

    async def _current(self, corpus_size: int) -> VectorSample:
        async with self._drawing:
            if self._sample is None or abs(corpus_size - self._drawn_from) > UNNOTICED_SHARE * self._drawn_from:
                self._sample = await self._storage.sample_vectors(self._namespace, SAMPLED_VECTORS)
                self._drawn_from = corpus_size
            return self._sample
