"""The default store: one SQLite file with rows, tags, vectors (sqlite-vec) and full text (FTS5)."""

from .inspection import DATABASE_DAMAGED, Finding, Inspection
from .search_index import IndexOptions
from .store import SqliteVecStorage
from .upkeep import ONE_MEMORY_ONLY, Repaired, StoreUpkeep

__all__ = [
    "DATABASE_DAMAGED",
    "ONE_MEMORY_ONLY",
    "Finding",
    "IndexOptions",
    "Inspection",
    "Repaired",
    "SqliteVecStorage",
    "StoreUpkeep",
]
