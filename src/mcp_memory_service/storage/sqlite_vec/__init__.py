"""The default store: one SQLite file with rows, tags, vectors (sqlite-vec) and full text (FTS5)."""

from .index import IndexOptions, LiveIndex
from .store import SqliteVecStorage
from .upkeep.inspection import DATABASE_DAMAGED, Finding, Inspection
from .upkeep.upkeep import ONE_MEMORY_ONLY, Repaired, StoreUpkeep

__all__ = [
    "DATABASE_DAMAGED",
    "ONE_MEMORY_ONLY",
    "Finding",
    "IndexOptions",
    "Inspection",
    "LiveIndex",
    "Repaired",
    "SqliteVecStorage",
    "StoreUpkeep",
]
