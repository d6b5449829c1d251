"""How much there is."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreStats:
    """How much a namespace holds, and with what its store was made."""

    backend: str
    memories: int
    tags: int
    vectors: int
    size_bytes: int
    """Of the texts and vectors of the namespace; where a server keeps the store, of its vectors."""
    schema_version: int
    embedding_model: str
    embedding_dimension: int | None
    memories_by_type: Mapping[str, int]
    oldest: int | None
    newest: int | None
    awaiting_vectors: int = 0
    """How many of the memories have no vectors yet, so that no search by meaning finds them."""

    @property
    def embedding_coverage(self) -> float:
        """Which part of the memories is found by meaning as well."""
        return 1.0 - self.awaiting_vectors / self.memories if self.memories else 1.0
