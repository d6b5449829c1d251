"""Takes the bytes of deleted memories out of the file and out of its log.

`secure_delete` and FTS5's `secure-delete` overwrite what is deleted where it lies. But when SQLite moves rows between
pages it leaves copies behind that no delete knows of (4 of 180 in a trial): only a rewrite of the file is sure of
them. The log keeps older pages until it is emptied, which waits for everybody who still reads them.

How far it has come is kept in the store, so that any process can finish it: first `rewrite` is due, then `log`.
"""

import threading
from pathlib import Path
from typing import Literal

import apsw

READERS_WAIT_MILLISECONDS = 2_000

_KEY = "erasure_due"
_COUNT_KEY = "purges"

_one_at_a_time = threading.Lock()  # the folder for temporary files is one for the whole process


def note_due(connection: apsw.Connection) -> None:
    """In the transaction that deletes: if we die after it, the next purge knows."""
    note_left(connection, "rewrite")
    connection.execute(
        "INSERT INTO store_info (key, value) VALUES (?, '1') ON CONFLICT DO UPDATE SET value = value + 1", (_COUNT_KEY,)
    )


def purges(connection: apsw.Connection) -> int:
    """How many there were: what was read before the number changed may hold what must be forgotten."""
    return int(connection.execute("SELECT value FROM store_info WHERE key = ?", (_COUNT_KEY,)).get or 0)


def rewrite(connection: apsw.Connection, path: Path) -> None:
    """Copies what is there into new pages, through a file without a name that goes with the connection, for the store
    may be larger than memory. It holds all memories, so it lies beside the store and nowhere else."""
    with _one_at_a_time:
        _set_temporary_folder(connection, str(path.parent))
        connection.execute("PRAGMA temp_store = file").fetchall()
        try:
            # The keys between its pages are beginnings of words; FTS5 keeps them when the words are deleted.
            connection.execute("INSERT INTO memory_text (memory_text) VALUES ('rebuild')")
            connection.execute("VACUUM").fetchall()
        finally:
            connection.execute("PRAGMA temp_store = memory").fetchall()
            _set_temporary_folder(connection, "")
    note_left(connection, "log")


def _set_temporary_folder(connection: apsw.Connection, folder: str) -> None:
    quoted = folder.replace("'", "''")
    connection.execute(f"PRAGMA temp_store_directory = '{quoted}'").fetchall()


def finish(connection: apsw.Connection, wait_milliseconds: int) -> bool:
    """Empty the log; False if somebody still reads from it after that long."""
    usual = int(connection.execute("PRAGMA busy_timeout").get)
    connection.set_busy_timeout(wait_milliseconds)
    try:
        blocked = bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get[0])
    finally:
        connection.set_busy_timeout(usual)
    if not blocked:
        connection.execute("DELETE FROM store_info WHERE key = ? AND value = 'log'", (_KEY,))
    return not blocked


def only_log_is_left(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT value FROM store_info WHERE key = ?", (_KEY,)).get == "log"


def note_left(connection: apsw.Connection, due: Literal["rewrite", "log"]) -> None:
    """Which step comes next."""
    connection.execute("INSERT OR REPLACE INTO store_info (key, value) VALUES (?, ?)", (_KEY, due))
