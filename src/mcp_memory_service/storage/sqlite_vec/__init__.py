"""The default store: one SQLite file with rows, tags, vectors (sqlite-vec) and full text (FTS5)."""

from .inspection import Finding, Inspection
from .store import SqliteVecStorage
from .upkeep import Repaired, StoreUpkeep

__all__ = ["Finding", "Inspection", "Repaired", "SqliteVecStorage", "StoreUpkeep"]
