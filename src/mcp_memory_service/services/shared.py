"""What the services of all namespaces over one store have in common."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ..embeddings.base import Embedder
from ..lru import LruCache
from ..storage.ports import Store
from .health import HealthCheck, TrackedEmbedder
from .search.cached_inputs import MAX_NAMESPACES, SharedInputs
from .search.concepts import Concepts
from .search.reranking import Reranking
from .search.searchers import SearcherPool
from .sources.freshness import FreshnessCheck
from .sources.sources import Runs
from .sources.vectors import VectorBacklog

if TYPE_CHECKING:
    from .memory_service import MemoryService


class SharedParts:
    def __init__(
        self,
        storage: Store,
        embedder: Embedder,
        searchers: SearcherPool | None,
        reranking: Reranking | None,
        monotonic_seconds: Callable[[], float],
        store_file: Path | None,
    ) -> None:
        self.searchers = searchers
        self.reranking = reranking
        self.embedder = TrackedEmbedder(embedder, monotonic_seconds)
        self.concepts = Concepts(storage, self.embedder, store_file, monotonic_seconds)
        self.inputs = SharedInputs(self.embedder, self.concepts)
        self.health = HealthCheck(storage, self.embedder)
        self.backlog = VectorBacklog(storage, self.embedder)
        self.freshness = FreshnessCheck()
        self.runs: defaultdict[str, Runs] = defaultdict(Runs)
        """Index runs by namespace: they go on, whoever has asked for them."""
        self.by_namespace: WeakValueDictionary[str, MemoryService] = WeakValueDictionary()
        """All that are in use, so that there are never two with caches of their own for one namespace."""
        self.recent: LruCache[str, MemoryService] = LruCache(MAX_NAMESPACES)
