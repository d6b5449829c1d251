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
from ..file.connection import BUSY_TIMEOUT_MILLISECONDS, connect, make_store_private
from ..queries.reads import tags_version
from .backups import copy_pages, write_backup
from .inspection import Inspection, inspect

# A flipped bit can end in any error of SQLite, or in text that is none.
UNREADABLE = (
    apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.FormatError, apsw.CantOpenError, apsw.IOError,
    apsw.ReadOnlyError, ValueError, TypeError,
)  # fmt: skip


class Replacing:
    """Both steps belong into one turn."""

    def __init__(self, path: Path, progress: Progress, now: int) -> None:
        self._path = path
        self._progress = progress
        self._now = now

    def put_aside(self, reason: str) -> Path | None:
        """A backup of what is there; what is not sound is copied byte by byte, with its log."""
        if self._path.stat().st_size == 0:
            return None
        copy = self._path.with_name(f"{self._path.name}.{reason}-{compact(self._now)}")
        try:
            with closing(connect(self._path, read_only=False)) as connection:
                write_backup(connection, copy, self._now, self._progress)
        except (StoreCorrupt, *UNREADABLE):
            for suffix in ("-wal", ""):
                self._copy_bytes(suffix, copy)
        return copy

    def _copy_bytes(self, suffix: str, copy: Path) -> None:
        source, target = (file.with_name(file.name + suffix) for file in (self._path, copy))
        if not source.exists():
            return
        with atomic_new_file(target) as part:
            shutil.copyfile(source, part)

    def take_over(self, database: Path) -> Inspection:
        """Returns what the store is like then."""
        with closing(apsw.Connection(str(database))) as source:
            # A number that no process has seen yet: it tells them that the tags are others now.
            newest = max(tags_version(source), self._tags_version()) + 1
            source.execute("UPDATE store_info SET value = ? WHERE key = 'tags_version'", (str(newest),))
            replaced = self._overwritten(source)
        if not replaced:
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            database.replace(self._path)
            sync_folder(self._path.parent)
        make_store_private(self._path)
        with closing(connect(self._path, read_only=False)) as target:
            with suppress(apsw.FullError, apsw.IOError):  # it is done; the log is emptied when there is room
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return inspect(target, self._progress)

    def _overwritten(self, source: apsw.Connection) -> bool:
        """Whether the file could take all pages of `source` in one transaction. It is asked for nothing but that: its
        tables may be damaged."""
        with closing(apsw.Connection(str(self._path))) as target:
            target.set_busy_timeout(BUSY_TIMEOUT_MILLISECONDS)
            try:
                copy_pages(source, target, self._progress)
            except (apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError):
                # Read-only is also what SQLite calls pages of another size than ours.
                return False
            return True

    def _tags_version(self) -> int:
        with closing(apsw.Connection(str(self._path))) as target, suppress(*UNREADABLE):
            return tags_version(target)
        return 0
