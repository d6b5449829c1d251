"""Opens the file with settings that are read back, and translates the errors of its driver."""

import errno
import json
import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import apsw
import sqlite_vec

from ....backoff import backoff
from ....errors import EngineTooOld, StorageFull, StorageReadOnly, StorageUnavailable, StoreCorrupt, StoreRefused
from ....private_files import create_private_file, make_private
from ..text_index import register_corpus_bm25

logger = logging.getLogger(__name__)

# Below: the WAL-reset corruption bug (fixed after 3.51.2) and FTS5 flaws, the last fixed in 3.54.0.
MIN_SQLITE_VERSION = (3, 54, 0)
BUSY_TIMEOUT_MILLISECONDS = 15_000
FIRST_PAUSE_SECONDS = 0.01
MAX_PAUSE_SECONDS = 0.1
PAGE_BYTES = 8_192
"""Five vectors of 384 floats to a page."""
READER_CACHE_KIB = 512
"""The page cache of the system holds the file as well: with four times as much, no read is faster."""

# Set one by one and read back: apsw runs a multi-statement string lazily, and a pragma can be refused silently.
PRAGMAS: tuple[tuple[str, int | str, int | str], ...] = (
    ("journal_mode", "wal", "wal"),
    ("synchronous", "full", 2),
    ("foreign_keys", "on", 1),
    ("secure_delete", "on", 1),
    ("temp_store", "memory", 2),  # no memory text in temporary files
)
# Of every connection, also to a file from somebody else: what its schema calls cannot do harm, and a page that is not
# what it says is noticed when it is read.
GUARDS: tuple[tuple[str, int | str, int | str], ...] = (("trusted_schema", "off", 0), ("cell_size_check", "on", 1))


def require_safe_sqlite() -> None:
    found = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if found < MIN_SQLITE_VERSION:
        wanted = ".".join(map(str, MIN_SQLITE_VERSION))
        raise EngineTooOld(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt a store; {wanted} or newer is needed: upgrade apsw."
        )


def create_store_file(path: Path) -> None:
    """Make the file before SQLite does, so that it is never readable by others; -wal and -shm inherit its mode."""
    with translated_errors():
        _has_store(path)
        create_private_file(path)


def require_store_file(path: Path) -> None:
    """For who only looks: a store that was never made is no empty one."""
    with translated_errors():
        if not _has_store(path):
            raise StoreRefused(f"There is no store at {path}.")


def _has_store(path: Path) -> bool:
    """Whether something is in the file; StoreRefused if only its log is left."""
    if path.is_file() and path.stat().st_size > 0:
        return True
    log = path.with_name(path.name + "-wal")
    # SQLite would delete the log of a database that was moved away without it, with all that is only in the log.
    if log.exists() and log.stat().st_size > 0:
        raise StoreRefused(
            f"{log} belongs to a database that is gone and may hold memories: put the database back beside it under"
            f" its old name ({path.name}), or move the log away."
        )
    return False


def real_path(path: Path) -> Path:
    """Where a file is, whatever links lead to it."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise StorageUnavailable(f"{path} cannot be found: {error}") from error


def make_store_private(path: Path) -> None:
    """Close a store to others that was open to them; only for a file that is known to be ours."""
    file = real_path(path)  # SQLite keeps its log beside it, not beside a link
    for suffix in ("", "-wal", "-shm"):
        make_private(file.with_name(file.name + suffix))


def open_database(
    path: Path | str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
) -> apsw.Connection:
    """A connection that trusts nothing in the file; `connect` is for a store of ours."""
    connection = apsw.Connection(str(path), flags=flags)
    # No statement writes to the schema or to the tables behind the text index.
    if not connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1):
        raise StorageUnavailable("SQLite refused to defend the store file.")
    _set_all(connection, GUARDS)
    return connection


def connect(path: Path, *, read_only: bool) -> apsw.Connection:
    connection = open_database(path, apsw.SQLITE_OPEN_READWRITE)
    # Before journal_mode, which needs a lock that other processes may hold.
    connection.set_busy_timeout(BUSY_TIMEOUT_MILLISECONDS)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}").fetchall()  # new files only
    _set_all(connection, PRAGMAS)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    register_corpus_bm25(connection)
    if read_only:
        connection.execute("PRAGMA query_only = on").fetchall()
        connection.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}").fetchall()
    return connection


def _set_all(connection: apsw.Connection, pragmas: tuple[tuple[str, int | str, int | str], ...]) -> None:
    for name, value, expected in pragmas:
        _set(connection, name, value)
        actual = connection.execute(f"PRAGMA {name}").get
        if actual != expected:
            raise StorageUnavailable(f"SQLite refused {name}={value} for the store file (it stays {actual}).")


def _set(connection: apsw.Connection, name: str, value: int | str) -> None:
    """SQLite ignores the busy time-out when two turn the same new file into WAL mode: the second is refused at once."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MILLISECONDS / 1000
    for pause in backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS):
        try:
            connection.execute(f"PRAGMA {name} = {value}").fetchall()
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(pause)
        else:
            return


@contextmanager
def translated_errors() -> Generator[None, None, None]:
    """Turn what the driver and the file system raise into errors of ours; a bug in our SQL stays as it is."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise StoreCorrupt(
            f"The database file is damaged, its disk fails, or it is no database; see mcp-memory doctor: {error}"
        ) from error
    except apsw.ReadOnlyError as error:
        raise StorageReadOnly(
            f"The store cannot be written, nor its folder, which SQLite needs also to read: {error}"
        ) from error
    except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError) as error:
        raise StorageUnavailable("The store is locked by another process; try again.") from error
    except (apsw.FullError, apsw.CantOpenError, apsw.IOError, apsw.PermissionsError, apsw.NoMemError, OSError) as error:
        if _disk_is_full(error):
            raise StorageFull("The disk is full.") from error
        what, reason = "The store", str(error)
        if isinstance(error, OSError):
            # Not where it is: clients are told, and that is for the log.
            logger.warning("%s: %s", error.filename, error.strerror)
            what, reason = Path(str(error.filename or what)).name, error.strerror or reason
        raise StorageUnavailable(f"{what} cannot be read or written: {reason}") from error


def _disk_is_full(error: Exception) -> bool:
    if isinstance(error, apsw.Error):
        # The memory that processes share is a file as well, and cannot grow on a full disk.
        extended: int = getattr(error, "extendedresult", 0)
        return isinstance(error, apsw.FullError) or extended == apsw.SQLITE_IOERR_SHMSIZE
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def immediate_transaction(connection: apsw.Connection) -> Generator[None, None, None]:
    """All or nothing, with the write lock taken first: upgrading a read lock half-way would fail under load."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
