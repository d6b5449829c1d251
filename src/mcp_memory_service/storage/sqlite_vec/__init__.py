"""The default store: one SQLite file with rows, tags, vectors (sqlite-vec) and full text (FTS5)."""

from .index import IndexOptions, LiveIndex
from .store import SqliteVecStorage
from .upkeep.upkeep import StoreUpkeep

__all__ = ["IndexOptions", "LiveIndex", "SqliteVecStorage", "StoreUpkeep"]
