"""sqlite-vec alone: a vec0 table, which is scanned."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import sqlite_vec

from feed import Batch, Vector


class Peer:
    packages = ("sqlite-vec", "apsw")

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        self._connect(folder)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("CREATE VIRTUAL TABLE memory USING vec0(vector float[384] distance_metric=cosine, +text TEXT)")
        for batch in batches:
            rows = zip(batch.texts, batch.vectors, strict=True)
            with self._db:
                self._db.executemany(
                    "INSERT INTO memory(rowid, text, vector) VALUES (?, ?, ?)",
                    ((batch.first + n, text, vector.tobytes()) for n, (text, vector) in enumerate(rows)),
                )
        self._db.close()

    def open(self, folder: Path) -> None:
        self._connect(folder)

    def _connect(self, folder: Path) -> None:
        self._db = apsw.Connection(str(folder / "vec.db"))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())

    def vector(self, vector: Vector, k: int) -> list[int]:
        asked = "SELECT rowid, text FROM memory WHERE vector MATCH ? AND k = ? ORDER BY distance"
        return [row[0] for row in self._db.execute(asked, (vector.tobytes(), k))]
