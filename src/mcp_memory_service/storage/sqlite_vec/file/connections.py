"""The pool of a store: one writing connection and a few reading ones, and the threads that run them."""

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Concatenate, Literal, ParamSpec, TypeVar

import apsw

from ....errors import StorageFull, StorageReadOnly, StorageUnavailable
from . import connection as sqlite_connection
from .connection import connect, translated_errors
from .writer_queue import WriterQueue

T = TypeVar("T")
P = ParamSpec("P")

logger = logging.getLogger(__name__)

READER_THREADS = 4
DISK_ERRORS = (apsw.IOError, apsw.FullError, apsw.CorruptError, apsw.CantOpenError, apsw.NoMemError)
MIN_FREE_BYTES = 1_000_000
"""With less the next write may not fit: a file system is full long before it says zero."""


class ReopeningConnection:
    """A connection that is closed when the disk fails and opened again for the next use."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self._path = path
        self._read_only = read_only
        self._connection: apsw.Connection | None = connect(path, read_only=read_only)

    @contextmanager
    def borrow(self) -> Generator[apsw.Connection, None, None]:
        connection = self.connection
        try:
            yield connection
        except DISK_ERRORS:
            # When a read fails in a transaction, FTS5 of SQLite 3.54.1 keeps what it was about to write, and the next
            # commit damages its index. A new connection starts without that.
            self._connection = None
            connection.close(True)
            raise

    @contextmanager
    def transaction(
        self, begin: Literal["BEGIN", "BEGIN IMMEDIATE"], end: Literal["COMMIT", "ROLLBACK"]
    ) -> Generator[apsw.Connection, None, None]:
        with self.borrow() as connection:
            try:
                connection.execute(begin)
                yield connection
                connection.execute(end)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @property
    def connection(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = connect(self._path, read_only=self._read_only)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class ConnectionPool:
    """Writes run one after the other, over all processes; reads never wait for them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity = _identity(path)
        self._writer_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory-writer")
        self._reader_threads = ThreadPoolExecutor(max_workers=READER_THREADS, thread_name_prefix="memory-reader")
        self._writer = ReopeningConnection(path, read_only=False)
        self._idle_readers: SimpleQueue[ReopeningConnection] = SimpleQueue()
        for _ in range(READER_THREADS):
            self._idle_readers.put(ReopeningConnection(path, read_only=True))
        self._queue = writer_queue(path)
        self.require_same_file()  # nobody replaced it while we opened it
        self._last_write_failed = False
        self._closed = False

    async def write(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run `work` in a transaction of its own, whose changes are on disk when this returns."""
        asked = time.monotonic()
        return await self._run(self._writer_thread, lambda: self._transact(work, "COMMIT", asked))

    async def try_write(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run `work` and roll it back, to see whether a write would succeed. After a write that the disk refused only
        a commit can tell: then the changes stay."""
        asked = time.monotonic()

        def tried() -> T:
            with translated_errors():
                if shutil.disk_usage(self.path.parent).free < MIN_FREE_BYTES:
                    raise StorageFull("The disk is full.")
            return self._transact(work, "COMMIT" if self._last_write_failed else "ROLLBACK", asked)

        return await self._run(self._writer_thread, tried)

    async def outside_transaction(
        self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` in the turn of a writer, with no transaction around it."""
        asked = time.monotonic()

        def in_turn() -> T:
            with translated_errors(), self._turn(asked), self._writer.borrow() as connection:
                return work(connection, *args, **kwargs)

        return await self._run(self._writer_thread, in_turn)

    async def read(self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` on one snapshot of the store."""

        def snapshot() -> T:
            self.require_same_file()
            reader = self._idle_readers.get()
            try:
                with translated_errors(), reader.transaction("BEGIN", "ROLLBACK") as connection:
                    return work(connection, *args, **kwargs)
            finally:
                self._idle_readers.put(reader)

        return await self._run(self._reader_threads, snapshot)

    def require_same_file(self) -> None:
        """A file that was deleted or replaced would answer from what it had, and take writes that are lost at the next
        start."""
        if _identity(self.path) != self._identity:
            logger.warning("%s is not the file that was opened.", self.path)
            raise StorageUnavailable("The store file was moved, deleted or replaced; restart the service.")

    def _transact(self, work: Callable[[apsw.Connection], T], end: Literal["COMMIT", "ROLLBACK"], asked: float) -> T:
        try:
            with translated_errors(), self._turn(asked), self._writer.transaction("BEGIN IMMEDIATE", end) as connection:
                done = work(connection)
        except (StorageFull, StorageUnavailable):
            self._last_write_failed = True
            raise
        self._last_write_failed = False
        return done

    @contextmanager
    def _turn(self, asked: float) -> Generator[None, None, None]:
        """`asked` is when the write was asked for: it may have waited for others of this process."""
        if self._writer.connection.readonly("main"):
            raise StorageReadOnly("The store file can be read but not written.")
        with self._queue.turn(time.monotonic() - asked):
            self.require_same_file()  # in our turn: nobody replaces the file now
            yield

    async def _run(self, threads: ThreadPoolExecutor, job: Callable[[], T]) -> T:
        if self._closed:
            raise StorageUnavailable("The store is closed.")
        return await asyncio.get_running_loop().run_in_executor(threads, job)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._writer_thread.shutdown(wait=True)
        self._reader_threads.shutdown(wait=True)
        with translated_errors():
            for _ in range(READER_THREADS):
                self._idle_readers.get().close()
            self._writer.close()


def writer_queue(path: Path) -> WriterQueue:
    """The queue of a file, the same whatever links lead to it."""
    return WriterQueue(sqlite_connection.real_path(path), sqlite_connection.BUSY_TIMEOUT_MILLISECONDS / 1000)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - asked for every read, and Path takes three times as long
    except OSError:
        return None
    return status.st_dev, status.st_ino
