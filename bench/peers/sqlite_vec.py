"""sqlite-vec alone: a vec0 table, which is scanned."""

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import sqlite_vec

from feed import Batch, Vector


class Peer:
    packages = ("sqlite-vec", "apsw")

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        self.open(folder)
        db = self._db
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE VIRTUAL TABLE memory USING vec0(vector float[384] distance_metric=cosine, +text TEXT)")
        for batch in batches:
            rows = zip(batch.texts, batch.vectors, strict=True)
            with db:
                db.executemany(
                    "INSERT INTO memory(rowid, text, vector) VALUES (?, ?, ?)",
                    ((batch.first + n, text, vector.tobytes()) for n, (text, vector) in enumerate(rows)),
                )
        db.close()

    def open(self, folder: Path) -> None:
        self._file = folder / "vec.db"
        self._of_thread = threading.local()

    @property
    def _db(self) -> apsw.Connection:
        """Of this thread: a connection serves one at a time."""
        if not hasattr(self._of_thread, "db"):
            self._of_thread.db = apsw.Connection(str(self._file))
            self._of_thread.db.enable_load_extension(True)
            self._of_thread.db.load_extension(sqlite_vec.loadable_path())
        return self._of_thread.db

    def vector(self, vector: Vector, k: int) -> list[int]:
        asked = "SELECT rowid, text FROM memory WHERE vector MATCH ? AND k = ? ORDER BY distance"
        return [row[0] for row in self._db.execute(asked, (vector.tobytes(), k))]
