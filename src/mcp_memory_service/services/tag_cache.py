"""The tags of a namespace, kept until they change, and for a minute at the most."""

import asyncio
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
    """A new tag is seen by the next search, whichever process wrote it; how many memories carry a tag may be a minute
    old if other processes write."""

    def __init__(self, storage: MemoryStorage, namespace: str, monotonic_seconds: Callable[[], float]) -> None:
        self._storage = storage
        self.namespace = namespace
        self._seconds = monotonic_seconds
        self._known: KnownTags | None = None
        self._version = -1
        self._expires = 0.0
        self._writes = 0

    async def tags(self) -> KnownTags:
        version = await self._storage.tags_version(self.namespace)
        if self._known is not None and version == self._version and self._seconds() < self._expires:
            return self._known
        writes_before = self._writes
        counts = {fold_tag(tag.tag): tag.memories for tag in await self._storage.get_all_tags(self.namespace)}
        known = KnownTags(vocabulary=await asyncio.to_thread(TagVocabulary, counts), memories_per_tag=counts)
        # A write that came in meanwhile may or may not be in this list: use it once, keep it not.
        if self._writes == writes_before:
            self._known, self._version, self._expires = known, version, self._seconds() + CACHE_SECONDS
        return known

    def forget(self) -> None:
        self._writes += 1
        self._known = None
