"""A SQLite store that answers every search from its index, however small it is: for the contract of all stores."""

from pathlib import Path
from threading import Lock

import apsw

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file.connections import ConnectionPool
from mcp_memory_service.storage.sqlite_vec.index.build.build import build
from mcp_memory_service.storage.sqlite_vec.index.format.segment_file import index_file, read_segment_file
from mcp_memory_service.storage.sqlite_vec.index.live.catch_up import CurrentIndex
from mcp_memory_service.storage.sqlite_vec.index.live.segments import Segments
from mcp_memory_service.storage.sqlite_vec.index.query.reader import IndexReader


class EagerIndex:
    """Built by the first search, in the thread that searches, and brought up to date by the next ones."""

    degraded = ()
    searches_are_brief = True

    def __init__(self, connections: ConnectionPool, _model_id: str) -> None:
        self._file = index_file(connections.path)
        self._current = CurrentIndex(notify=lambda _: None)
        self._making = Lock()  # one thread must not load the file that another builds from other rows
        self.answered = 0

    def reader_for(self, connection: apsw.Connection) -> IndexReader | None:
        with self._making:
            if self._current.reader is None or not self._current.still_follows(connection):
                self._make(connection)
            reader = self._current.reader_for(connection)
            self.answered += reader is not None
            return reader

    async def wait_ready(self) -> None:
        """Every search waits for it by itself."""

    def build_again(self) -> None:
        self._current.forget()

    def _make(self, connection: apsw.Connection) -> None:
        if not connection.execute("SELECT 1 FROM memories WHERE instr(namespace, '#') = 0 LIMIT 1").get:
            return
        build(connection, self._file)
        segments = Segments(read_segment_file(self._file))
        while self._current.apply_some(connection, segments):
            pass

    async def close(self) -> None:
        self._current.forget()


async def open_indexed(path: Path, model_id: str, dimension: int | None) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, model_id, dimension, indexed_text, index=EagerIndex)
