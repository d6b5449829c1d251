"""What similarity to expect by chance: a query against a sample of the stored vectors."""

from ..hybrid_search import vector_prominence
from ..models import Vector, VectorSample
from ..storage.base import MemoryStorage

# The mean of so many similarities is known to 3 % of their deviation, the deviation itself to 2 %.
SAMPLED_VECTORS = 1000


class VectorBackground:
    """Keeps the sample until the number of memories changes; it is read in a few milliseconds."""

    def __init__(self, storage: MemoryStorage, namespace: str) -> None:
        self._storage = storage
        self._namespace = namespace
        self._sample: VectorSample | None = None
        self._drawn_from = -1

    async def prominence(self, query_vector: Vector, best: float, corpus_size: int) -> float:
        """How far the best similarity stands out among all vectors of the corpus."""
        if self._sample is None or corpus_size != self._drawn_from:
            self._sample = await self._storage.sample_vectors(self._namespace, SAMPLED_VECTORS)
            self._drawn_from = corpus_size
        sample = self._sample
        if sample.memories == 0:
            return 1.0
        similarities = sample.vectors @ query_vector
        vectors = round(corpus_size * len(sample.vectors) / sample.memories)
        return vector_prominence(best, float(similarities.mean()), float(similarities.std()), vectors)
