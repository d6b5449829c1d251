"""The tags of a namespace, kept until they change, and for a minute at the most."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...errors import Unavailable
from ...hybrid_search import TagVocabulary
from ...models import fold_tag
from ...storage.ports import Store

CACHE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class KnownTags:
    vocabulary: TagVocabulary
    memories_per_tag: Mapping[str, int]
    """By folded tag."""
    memories: int | None
    """How many there were in all; None if they could not be counted."""
    version: int
    """Of the tags, as the store counts it."""


class TagCache:
    """A new tag is seen by the next search, whichever process wrote it; how many memories there are, and how many carry
    a tag, may be a minute old if other processes write."""

    def __init__(self, storage: Store, namespace: str, monotonic_seconds: Callable[[], float]) -> None:
        self._storage = storage
        self.namespace = namespace
        self._seconds = monotonic_seconds
        self._known: KnownTags | None = None
        self._expires = 0.0
        self._writes = 0

    def remembered(self) -> KnownTags | None:
        """What was known last; whether its version is still that of the store is for the search to see."""
        return self._known if self._seconds() < self._expires else None

    async def tags(self) -> KnownTags:
        version = await self._storage.tags_version(self.namespace)
        remembered = self.remembered()
        if remembered is not None and version == remembered.version:
            return remembered
        writes_before = self._writes
        tags, memories = await asyncio.gather(self._storage.get_all_tags(self.namespace), self._counted())
        counts = {fold_tag(tag.tag): tag.memories for tag in tags}
        known = KnownTags(await asyncio.to_thread(TagVocabulary, counts), counts, memories, version)
        # A write that came in meanwhile may or may not be in this list: use it once, keep it not.
        if self._writes == writes_before:
            self._known, self._expires = known, self._seconds() + CACHE_SECONDS
        return known

    async def _counted(self) -> int | None:
        try:
            return await self._storage.count_all_memories(self.namespace)
        except Unavailable:  # told by the search, which counts for itself
            return None

    def forget(self) -> None:
        self._writes += 1
        self._known = None
