"""The tags of a namespace, kept for a minute and dropped at once when this process writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..hybrid_search import TagVocabulary
from ..models import fold_tag
from ..storage.base import MemoryStorage

CACHE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class KnownTags:
    vocabulary: TagVocabulary
    memories_per_tag: Mapping[str, int]
    """By folded tag."""


class TagCache:
    """Other processes' tags are seen after a minute at the latest, this process's at once."""

    def __init__(self, storage: MemoryStorage, namespace: str, monotonic_seconds: Callable[[], float]) -> None:
        self._storage = storage
        self.namespace = namespace
        self._seconds = monotonic_seconds
        self._known: KnownTags | None = None
        self._expires = 0.0
        self._writes = 0

    async def tags(self) -> KnownTags:
        if self._known is not None and self._seconds() < self._expires:
            return self._known
        writes_before = self._writes
        counts = {fold_tag(tag.tag): tag.memories for tag in await self._storage.get_all_tags(self.namespace)}
        known = KnownTags(vocabulary=TagVocabulary(counts), memories_per_tag=counts)
        # A write that came in meanwhile may or may not be in this list: use it once, keep it not.
        if self._writes == writes_before:
            self._known, self._expires = known, self._seconds() + CACHE_SECONDS
        return known

    def forget(self) -> None:
        self._writes += 1
        self._known = None
