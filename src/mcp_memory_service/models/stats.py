"""How much there is."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreStats:
    """How much a store holds, and with what it was made."""

    backend: str
    memories: int
    tags: int
    vectors: int
    size_bytes: int
    """Of the database file; where a server keeps the store, of the vectors of the namespace."""
    schema_version: int
    embedding_model: str
    embedding_dimension: int | None
    memories_by_type: Mapping[str, int]
    oldest: int | None
    newest: int | None
