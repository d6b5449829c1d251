"""Puts a new database in the place of the old one, in the turn of a writer, with a copy of what was there.

The contents are replaced in one transaction, not the file: who has it open sees the new ones with the next query. Only
a file whose very head is destroyed cannot take a transaction; it is replaced as a whole, and who has it open is told to
start again.
"""

import shutil
from contextlib import closing, suppress
from pathlib import Path

import apsw

from ....errors import StoreCorrupt
from ....models import Progress
from ....private_files import atomic_new_file, sync_folder
from ....timestamps import compact
from ..file.connection import BUSY_TIMEOUT_MILLISECONDS, connect, make_store_private, open_database
from .backups import copy_pages, write_backup
from .inspection import Inspection, inspect

# A flipped bit can end in any error of SQLite, or in text that is none.
UNREADABLE = (
    apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.FormatError, apsw.CantOpenError, apsw.IOError,
    apsw.ReadOnlyError, ValueError, TypeError,
)  # fmt: skip


def put_aside(path: Path, reason: str, now: int, progress: Progress) -> Path | None:
    """A backup of what is there; what is not sound is copied byte by byte, with its log."""
    if path.stat().st_size == 0:
        return None
    copy = path.with_name(f"{path.name}.{reason}-{compact(now)}")
    try:
        with closing(connect(path, read_only=False)) as connection:
            write_backup(connection, copy, now, progress)
    except (StoreCorrupt, *UNREADABLE):
        for suffix in ("-wal", ""):
            source = path.with_name(path.name + suffix)
            if source.exists():
                with atomic_new_file(copy.with_name(copy.name + suffix)) as part:
                    shutil.copyfile(source, part)
    return copy


def take_over(path: Path, database: Path, progress: Progress) -> Inspection:
    """Put a database in the place of what is there; in the same turn as `put_aside`. Returns what the store is like
    then."""
    with closing(open_database(database)) as source:
        # A number that no process has seen yet: it tells them that the tags are others now.
        newest = _newest_tags(source)
        with closing(open_database(path)) as target, suppress(*UNREADABLE):
            newest = max(newest, _newest_tags(target))
        source.execute("UPDATE store_info SET value = ? WHERE key = 'tags_version'", (str(newest + 1),))
        source.execute("UPDATE namespaces SET tags_version = ?", (newest + 1,))
        replaced = _overwritten(path, source, progress)
    if not replaced:
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        database.replace(path)
        sync_folder(path.parent)
    make_store_private(path)
    with closing(connect(path, read_only=False)) as target:
        with suppress(apsw.FullError, apsw.IOError):  # it is done; the log is emptied when there is room
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return inspect(target, progress)


def _newest_tags(connection: apsw.Connection) -> int:
    """The number that the next change of any tag counts up."""
    return int(connection.execute("SELECT value FROM store_info WHERE key = 'tags_version'").get or 0)


def _overwritten(path: Path, source: apsw.Connection, progress: Progress) -> bool:
    """Whether the file could take all pages of `source` in one transaction. It is asked for nothing but that: its
    tables may be damaged."""
    with closing(open_database(path)) as target:
        target.set_busy_timeout(BUSY_TIMEOUT_MILLISECONDS)
        try:
            copy_pages(source, target, progress)
        except (apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError):
            # Read-only is also what SQLite calls pages of another size than ours.
            return False
        return True
