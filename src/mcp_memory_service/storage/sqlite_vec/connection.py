"""Connections to the file, each with its settings read back, and the threads they run on."""

import asyncio
import os
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

import apsw
import sqlite_vec

from ...errors import EngineTooOld, StorageFull, StorageUnavailable, StoreCorrupt

T = TypeVar("T")

# Below: the WAL-reset corruption bug (fixed after 3.51.2) and FTS5 flaws, the last fixed in 3.54.0.
OLDEST_SAFE_SQLITE = (3, 54, 0)
BUSY_TIMEOUT_MILLISECONDS = 15_000
READER_THREADS = 4

# Set one by one and read back: apsw runs a multi-statement string lazily, and a pragma can be refused silently.
_PRAGMAS: tuple[tuple[str, int | str, int | str], ...] = (
    ("journal_mode", "wal", "wal"),
    ("synchronous", "full", 2),
    ("foreign_keys", "on", 1),
    ("secure_delete", "on", 1),
    ("temp_store", "memory", 2),  # no memory text in temporary files
)


def require_safe_sqlite() -> None:
    found = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if found < OLDEST_SAFE_SQLITE:
        wanted = ".".join(map(str, OLDEST_SAFE_SQLITE))
        raise EngineTooOld(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt a store; {wanted} or newer is needed: upgrade apsw."
        )


def create_private_file(path: Path) -> None:
    """Make the file before SQLite does, so that it is never readable by others; -wal and -shm inherit its mode."""
    with translated_errors():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def make_private(path: Path) -> None:
    """Close a store to others that was open to them; only for a file that is known to be ours."""
    with translated_errors():
        for file in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))):
            if file.exists() and file.stat().st_mode & 0o077:
                file.chmod(0o600)


def connect(path: Path, *, read_only: bool) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    # Before journal_mode, which needs a lock that other processes may hold.
    connection.set_busy_timeout(BUSY_TIMEOUT_MILLISECONDS)
    connection.execute("PRAGMA page_size = 8192").fetchall()  # five vectors of 384 floats to a page; new files only
    for name, value, expected in _PRAGMAS:
        connection.execute(f"PRAGMA {name} = {value}").fetchall()
        actual = connection.execute(f"PRAGMA {name}").get
        if actual != expected:
            raise StorageUnavailable(f"SQLite refused {name}={value} for {path} (it stays {actual}).")
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    if read_only:
        connection.execute("PRAGMA query_only = on").fetchall()
    return connection


@contextmanager
def translated_errors() -> Generator[None, None, None]:
    """Turn what the driver and the file system raise into errors of ours; a bug in our SQL stays as it is."""
    try:
        yield
    except apsw.FullError as error:
        raise StorageFull("The disk is full: nothing was written.") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorrupt(f"The database file is damaged or not a database: {error}") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StorageUnavailable("The store is locked by another process; try again.") from error
    except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, apsw.PermissionsError, OSError) as error:
        raise StorageUnavailable(f"The store cannot be read or written: {error}") from error


@contextmanager
def immediate_transaction(connection: apsw.Connection) -> Generator[None, None, None]:
    """All or nothing, with the write lock taken at once: a lock asked for half-way would fail under load."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _deferred_transaction(connection: apsw.Connection) -> Generator[None, None, None]:
    """All reads inside see the store as it was at the first of them."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class ConnectionThreads:
    """One writer thread and a few reader threads: writes queue in order, readers never wait for them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory-writer")
        self._reader_threads = ThreadPoolExecutor(max_workers=READER_THREADS, thread_name_prefix="memory-reader")
        self._writer = connect(path, read_only=False)
        self._idle_readers: SimpleQueue[apsw.Connection] = SimpleQueue()
        for _ in range(READER_THREADS):
            self._idle_readers.put(connect(path, read_only=True))
        self._identity = _identity(path)
        self._closed = False

    async def write(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run `work` in a transaction of its own; when this returns, its changes are on disk."""

        def transaction() -> T:
            self.require_same_file()
            with translated_errors(), immediate_transaction(self._writer):
                return work(self._writer)

        return await self._run(self._writer_thread, transaction)

    async def read(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run `work` on one snapshot of the store."""

        def snapshot() -> T:
            connection = self._idle_readers.get()
            try:
                with translated_errors(), _deferred_transaction(connection):
                    return work(connection)
            finally:
                self._idle_readers.put(connection)

        return await self._run(self._reader_threads, snapshot)

    def require_same_file(self) -> None:
        """A file that was deleted or replaced would take writes and lose them at the next start."""
        if _identity(self._path) != self._identity:
            raise StorageUnavailable(f"{self._path} was moved, deleted or replaced; restart the service.")

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
        for _ in range(READER_THREADS):
            self._idle_readers.get().close()
        with translated_errors():
            self._writer.close()
