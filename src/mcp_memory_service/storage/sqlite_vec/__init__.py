"""The default store: one SQLite file with rows, tags, vectors (sqlite-vec) and full text (FTS5)."""

from .file.connection import require_store_file
from .file.ownership import require_own_store, tell_of_shared_folder
from .index import IndexOptions, LiveIndex
from .store import SqliteVecStorage
from .upkeep.upkeep import StoreUpkeep

__all__ = [
    "IndexOptions",
    "LiveIndex",
    "SqliteVecStorage",
    "StoreUpkeep",
    "require_own_store",
    "require_store_file",
    "tell_of_shared_folder",
]
