"""Puts a backup back: verified before anything is changed, with a copy of what was there."""

import os
from contextlib import closing, suppress
from pathlib import Path

import apsw

from ....errors import BackupDamaged, ForeignStore, SchemaTooNew, StorageReadOnly, StoreCorrupt, StoreRefused
from ....models import Progress
from ....models.upkeep import Manifest, Restored
from ....private_files import new_private_file
from ...ports import TextAnalyzer
from ..file.connection import create_store_file, translated_errors
from ..file.connections import writer_queue
from ..schema import MIGRATIONS, prepare, require_ours, schema_version
from .backups import extract_database, read_manifest
from .inspection import inspect
from .replacement import UNREADABLE, Replacing


class Restoring:
    def __init__(self, path: Path, analyze: TextAnalyzer, progress: Progress, now: int) -> None:
        self._path = path
        self._analyze = analyze
        self._progress = progress
        self._now = now

    def run(self, backup: Path) -> Restored:
        with translated_errors():
            if not backup.is_file():
                what = "is a folder: name one of the files in it" if backup.is_dir() else "is not there"
                raise StoreRefused(f"{backup} {what}.")
            manifest = read_manifest(backup, self._progress)
            _require_known(backup, manifest.schema_version)
            self._require_replaceable()
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with new_private_file(self._path) as unpacked:
                extract_database(backup, manifest, unpacked, self._progress)
                self._bring_up_to_date(unpacked, manifest, backup)
                create_store_file(self._path)
                with writer_queue(self._path).turn():
                    replacing = Replacing(self._path, self._progress, self._now)
                    copy = replacing.put_aside("before-restore")
                    found = replacing.take_over(unpacked)
        if not found.sound:
            raise StoreCorrupt(f"{self._path} is not sound after the backup was put back: {found.reasons}")
        return Restored(manifest, copy)

    def _require_replaceable(self) -> None:
        """A damaged store may be replaced; one of another program or of a newer version of this one may not."""
        if not self._path.exists():
            return
        if not os.access(self._path, os.W_OK):
            raise StorageReadOnly(f"{self._path} can be read but not written.")
        _require_no_text(self._path)
        with suppress(StoreCorrupt):
            require_ours(self._path)
        with closing(apsw.Connection(str(self._path))) as connection, suppress(*UNREADABLE):
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


def _require_no_text(path: Path) -> None:
    """A store without a head may be a damaged one; text that was named by mistake is not."""
    with path.open("rb") as file:
        head = file.read(512)
    if head and b"\0" not in head:
        raise ForeignStore(f"{path} is no memory store; name another file.")


def _require_known(file: Path, version: int) -> None:
    if version > len(MIGRATIONS):
        raise SchemaTooNew(f"{file} was made by a newer version of this program: upgrade mcp-memory-service.")
