"""Puts a backup back: verified before anything is changed, with a copy of what was there, in the turn of a writer.

The contents are replaced in one transaction, not the file: who has it open sees the restored memories with the next
query. Only a file whose very head is destroyed cannot take a transaction; it is replaced as a whole, and who has it
open is told to start again.
"""

import os
import shutil
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from ...errors import BackupDamaged, SchemaTooNew, StorageReadOnly, StoreCorrupt, StoreRefused
from ...models import Progress
from ...timestamps import compact
from ..base import TextAnalyzer
from .backups import Manifest, copy_pages, extract_database, new_private_file, put_in_place, read_manifest, write_backup
from .connection import BUSY_TIMEOUT_MILLISECONDS, connect, create_private_file, sync_folder, translated_errors
from .inspection import inspect
from .reads import tags_version
from .schema import MIGRATIONS, prepare, require_ours, schema_version
from .threads import writer_turns


@dataclass(frozen=True, slots=True)
class Restored:
    manifest: Manifest
    copy: Path | None
    """What was there before, if anything was."""


class Restoring:
    def __init__(self, path: Path, analyze: TextAnalyzer, progress: Progress, now: int) -> None:
        self._path = path
        self._analyze = analyze
        self._progress = progress
        self._now = now

    def run(self, backup: Path) -> Restored:
        with translated_errors():
            if not backup.is_file():
                raise StoreRefused(f"There is no backup at {backup}.")
            manifest = read_manifest(backup, self._progress)
            _require_known(backup, manifest.schema_version)
            self._require_replaceable()
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with new_private_file(self._path) as unpacked:
                extract_database(backup, manifest, unpacked, self._progress)
                self._bring_up_to_date(unpacked, manifest, backup)
                create_private_file(self._path)
                with writer_turns(self._path).turn():
                    copy = self._put_aside()
                    self._take_over(unpacked)
        return Restored(manifest, copy)

    def _require_replaceable(self) -> None:
        """A damaged store may be replaced; one of another program or of a newer version of this one may not."""
        if not self._path.exists():
            return
        if not os.access(self._path, os.W_OK):
            raise StorageReadOnly(f"{self._path} can be read but not written.")
        with suppress(StoreCorrupt):
            require_ours(self._path)
        with closing(apsw.Connection(str(self._path))) as connection, suppress(*_UNREADABLE):
            _require_known(self._path, schema_version(connection))

    def _bring_up_to_date(self, unpacked: Path, manifest: Manifest, backup: Path) -> None:
        """Before anything is changed, so that what takes over is known to be sound."""
        require_ours(unpacked)
        with closing(apsw.Connection(str(unpacked))) as connection:
            connection.execute("PRAGMA temp_store = memory").fetchall()
            model, dimension = manifest.embedding_model, manifest.embedding_dimension
            prepare(connection, unpacked, model, dimension, self._analyze)
            found = inspect(connection, self._progress)
        if not found.sound:
            raise BackupDamaged(f"{backup} does not hold a sound store: {found.reasons}")

    def _put_aside(self) -> Path | None:
        """A backup of what is there; what is not sound is copied byte by byte, with its log."""
        if self._path.stat().st_size == 0:
            return None
        copy = self._path.with_name(f"{self._path.name}.before-restore-{compact(self._now)}")
        try:
            with closing(connect(self._path, read_only=False)) as connection:
                write_backup(connection, copy, self._now, self._progress)
        except (StoreCorrupt, *_UNREADABLE):
            for suffix in ("-wal", ""):
                self._copy_bytes(suffix, copy)
        return copy

    def _copy_bytes(self, suffix: str, copy: Path) -> None:
        source, target = (file.with_name(file.name + suffix) for file in (self._path, copy))
        if not source.exists():
            return
        with new_private_file(target) as part:
            with source.open("rb") as reading, part.open("r+b") as writing:
                shutil.copyfileobj(reading, writing)
                writing.flush()
                os.fsync(writing.fileno())
            put_in_place(part, target)

    def _take_over(self, unpacked: Path) -> None:
        with closing(apsw.Connection(str(unpacked))) as source:
            # A number that no process has seen yet: it tells them that the tags are others now.
            newest = max(tags_version(source), self._tags_version()) + 1
            source.execute("UPDATE store_info SET value = ? WHERE key = 'tags_version'", (str(newest),))
            replaced = self._overwritten(source)
        if not replaced:
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            unpacked.replace(self._path)
            sync_folder(self._path.parent)
        with closing(connect(self._path, read_only=False)) as target:
            with suppress(apsw.FullError, apsw.IOError):  # it is done; the log is emptied when there is room
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            found = inspect(target, self._progress)
        if not found.sound:
            raise StoreCorrupt(f"{self._path} is not sound after the backup was put back: {found.reasons}")

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
        with closing(apsw.Connection(str(self._path))) as target, suppress(*_UNREADABLE):
            return tags_version(target)
        return 0


# A flipped bit can end in any error of SQLite, or in text that is none.
_UNREADABLE = (
    apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.FormatError, apsw.CantOpenError, apsw.IOError,
    apsw.ReadOnlyError, ValueError, TypeError,
)  # fmt: skip


def _require_known(file: Path, version: int) -> None:
    if version > len(MIGRATIONS):
        raise SchemaTooNew(f"{file} was made by a newer version of this program: upgrade mcp-memory-service.")
