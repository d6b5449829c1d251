"""The default store: one SQLite file with rows, tags, vectors (sqlite-vec) and full text (FTS5)."""

from .store import SqliteVecStorage

__all__ = ["SqliteVecStorage"]
