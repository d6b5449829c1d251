"""SQLite FTS5 alone: Porter stems, BM25, any of the query's words but stop words."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
from bm25s.stopwords import STOPWORDS_EN

from feed import Batch


class Peer:
    packages = ("apsw",)

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        self.open(folder)
        db = self._db
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE VIRTUAL TABLE memory USING fts5(text, tokenize='porter unicode61')")
        for batch in batches:
            with db:
                db.executemany(
                    "INSERT INTO memory(rowid, text) VALUES (?, ?)",
                    ((batch.first + n, text) for n, text in enumerate(batch.texts)),
                )
        db.execute("INSERT INTO memory(memory) VALUES ('optimize')")
        db.close()

    def open(self, folder: Path) -> None:
        self._file = folder / "fts.db"
        self._of_thread = threading.local()

    @property
    def _db(self) -> apsw.Connection:
        """Of this thread: a connection serves one at a time."""
        if not hasattr(self._of_thread, "db"):
            self._of_thread.db = apsw.Connection(str(self._file))
        return self._of_thread.db

    def keyword(self, text: str, k: int) -> list[int]:
        words = [word for word in re.findall(r"\w+", text.lower()) if word not in STOPWORDS_EN]
        if not words:
            return []
        asked = "SELECT rowid, text FROM memory WHERE memory MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._db.execute(asked, (" OR ".join(f'"{word}"' for word in words), k))]
