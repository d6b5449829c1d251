"""Takes the bytes of deleted memories out of the file and out of its log.

`secure_delete` and FTS5's `secure-delete` overwrite what is deleted where it lies. But when SQLite moves rows between
pages it leaves copies behind that no delete knows of (4 of 180 in a trial): only a rewrite of the file is sure of them.
The log keeps older pages until it is emptied, which waits for everybody who still reads them.

How far it has come is kept in the store, so that any process can finish it: first `rewrite` is due, then `log`.
"""

from typing import Literal

import apsw

READERS_WAIT_MILLISECONDS = 2_000

_KEY = "erasure_due"


def note_due(connection: apsw.Connection) -> None:
    """In the transaction that deletes: if we die after it, the next purge knows."""
    _set(connection, "rewrite")


def rewrite(connection: apsw.Connection) -> None:
    """Copies what is there into new pages. As it goes through a file that lives only meanwhile, not through memory:
    the store may be larger than that."""
    connection.execute("PRAGMA temp_store = file").fetchall()
    try:
        connection.execute("VACUUM").fetchall()
    finally:
        connection.execute("PRAGMA temp_store = memory").fetchall()
    _set(connection, "log")


def finish(connection: apsw.Connection) -> bool:
    """Empty the log; False if somebody still reads from it."""
    usual = int(connection.execute("PRAGMA busy_timeout").get)
    connection.set_busy_timeout(READERS_WAIT_MILLISECONDS)
    try:
        blocked = bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get[0])
    finally:
        connection.set_busy_timeout(usual)
    if not blocked:
        connection.execute("DELETE FROM store_info WHERE key = ? AND value = 'log'", (_KEY,))
    return not blocked


def only_log_is_left(connection: apsw.Connection) -> bool:
    row = connection.execute("SELECT value FROM store_info WHERE key = ?", (_KEY,)).fetchone()
    return row is not None and row[0] == "log"


def _set(connection: apsw.Connection, due: Literal["rewrite", "log"]) -> None:
    connection.execute("INSERT OR REPLACE INTO store_info (key, value) VALUES (?, ?)", (_KEY, due))
