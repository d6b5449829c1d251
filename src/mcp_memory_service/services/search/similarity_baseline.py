"""What similarity to expect by chance: a query against a sample of the stored vectors."""

import asyncio
from dataclasses import dataclass

import numpy as np

from ...hybrid_search import vector_prominence
from ...models import Vector, VectorSample
from ...storage.ports import Store

# The mean of so many similarities is known to 3 % of their deviation, the deviation itself to 2 %.
SAMPLED_VECTORS = 1000

# So large a part of the memories may come or go before the sample is drawn anew: it moves mean and deviation by less
# than a sample can tell. Below a hundred memories that is any change at all.
UNNOTICED_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class SimilarityBaseline:
    sample: VectorSample
    drawn_from: int
    """So many memories were there."""

    def is_of(self, corpus_size: int) -> bool:
        return abs(corpus_size - self.drawn_from) <= UNNOTICED_SHARE * self.drawn_from

    def prominence(self, query_vector: Vector, best: float, corpus_size: int) -> float:
        """How far the best similarity stands out among all vectors of the corpus."""
        if self.sample.memories == 0:
            return 1.0
        # Row by row, each too short for BLAS to take threads: a product with the whole matrix takes all cores, and
        # searches that come together then wait for each other.
        similarities = np.vecdot(self.sample.vectors, query_vector)
        vectors = round(corpus_size * len(self.sample.vectors) / self.sample.memories)
        return vector_prominence(best, float(similarities.mean()), float(similarities.std()), vectors)


class SimilarityBaselines:
    """Keeps the sample until the number of memories has changed by more than a hundredth, so that a search does not pay
    for each write; whoever comes while it is read waits for it and does not read it once more."""

    def __init__(self, storage: Store, namespace: str) -> None:
        self._storage = storage
        self._namespace = namespace
        self._current: SimilarityBaseline | None = None
        self._drawing = asyncio.Lock()

    def remembered(self) -> SimilarityBaseline | None:
        """What was drawn last; whether it is still of about as many memories is for the search to see."""
        return self._current

    async def current(self, corpus_size: int | None) -> SimilarityBaseline:
        """Of about so many memories, or as it was drawn last if their number is not known."""
        async with self._drawing:
            known = self._current
            if known is None or not (corpus_size is None or known.is_of(corpus_size)):
                sample = await self._storage.sample_vectors(self._namespace, SAMPLED_VECTORS)
                known = SimilarityBaseline(sample, sample.memories if corpus_size is None else corpus_size)
                self._current = known
            return known
