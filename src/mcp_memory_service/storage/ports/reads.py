"""What is read apart from a search."""

from collections.abc import Sequence
from typing import Protocol

from ...models import EmbeddedMemory, MemoryFilter, MemoryPage, MemoryScan, StoreStats, TagCount, VectorSample


class MemoryReads(Protocol):
    async def list_memories(self, where: MemoryFilter, offset: int, limit: int) -> MemoryPage:
        """Newest first (the id breaks ties), with the number of all that match."""
        ...

    async def get_embedded(self, namespace: str, content_hashes: Sequence[str]) -> list[EmbeddedMemory]:
        """Memories with their vectors, in the order asked; unknown ids are left out."""
        ...

    async def find_ids(self, namespace: str, prefix: str, limit: int) -> list[str]:
        """The ids that begin with these hex digits, in order, at most `limit`; at least MIN_PREFIX_DIGITS are given."""
        ...

    async def get_all_tags(self, namespace: str) -> list[TagCount]:
        """Every tag that a memory of the namespace carries, most used first, each once whatever its case."""
        ...

    async def sample_vectors(self, where: MemoryFilter, limit: int) -> VectorSample:
        """Vectors of memories drawn evenly from those of `where.corpus` that have some, at most `limit`; the same ones
        until memories change, and all of them if there are no more than that."""
        ...

    async def stats(self, namespace: str) -> StoreStats:
        """Of the namespace alone."""
        ...

    async def namespaces(self) -> list[str]:
        """Those that have memories, in order."""
        ...

    async def scan(self, cursor: str | None, limit: int) -> MemoryScan:
        """Up to `limit` memories of any namespace with their vectors, from where an earlier scan ended. What is there
        all the while comes exactly once; what is stored meanwhile may be left out."""
        ...
