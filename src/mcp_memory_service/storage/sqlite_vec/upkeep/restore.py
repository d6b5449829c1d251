"""Puts a backup back: verified before anything is changed, with a copy of what was there."""

import os
from contextlib import closing, suppress
from pathlib import Path

from ....errors import BackupDamaged, ForeignStore, SchemaTooNew, StorageReadOnly, StoreCorrupt, StoreRefused
from ....models import Progress
from ....models.upkeep import Restored
from ....private_files import new_private_file
from ....product_names import DISTRIBUTION
from ...ports import TextAnalyzer
from ..file.connection import create_store_file, open_database, translated_errors
from ..file.connections import writer_queue
from ..schema import MIGRATIONS, prepare, require_ours, schema_version
from .backups import extract_database, read_manifest
from .inspection import inspect
from .replacement import UNREADABLE, put_aside, take_over


def restore(backup: Path, path: Path, analyze: TextAnalyzer, progress: Progress, now: int) -> Restored:
    with translated_errors():
        if not backup.is_file():
            what = "is a folder: name one of the files in it" if backup.is_dir() else "is not there"
            raise StoreRefused(f"{backup} {what}.")
        manifest = read_manifest(backup, progress)
        _require_known(backup, manifest.schema_version)
        _require_replaceable(path)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with new_private_file(path) as unpacked:
            extract_database(backup, manifest, unpacked, progress)
            # Before anything is changed, so that what takes over is known to be sound.
            require_ours(unpacked)
            with closing(open_database(unpacked)) as connection:
                connection.execute("PRAGMA temp_store = memory").fetchall()
                prepare(connection, unpacked, manifest.embedding_model, manifest.embedding_dimension, analyze)
                found = inspect(connection, progress)
            if not found.sound:
                raise BackupDamaged(f"{backup} does not hold a sound store: {found.reasons}")
            create_store_file(path)
            with writer_queue(path).turn():
                copy = put_aside(path, "before-restore", now, progress)
                found = take_over(path, unpacked, progress)
    if not found.sound:
        raise StoreCorrupt(f"{path} is not sound after the backup was put back: {found.reasons}")
    return Restored(manifest, copy)


def _require_replaceable(path: Path) -> None:
    """A damaged store may be replaced; one of another program or of a newer version of this one may not."""
    if not path.exists():
        return
    if not os.access(path, os.W_OK):
        raise StorageReadOnly(f"{path} can be read but not written.")
    # A store without a head may be a damaged one; text that was named by mistake is not.
    with path.open("rb") as file:
        head = file.read(512)
    if head and b"\0" not in head:
        raise ForeignStore(f"{path} is no memory store; name another file.")
    with suppress(StoreCorrupt):
        require_ours(path)
    with closing(open_database(path)) as connection, suppress(*UNREADABLE):
        _require_known(path, schema_version(connection))


def _require_known(file: Path, version: int) -> None:
    if version > len(MIGRATIONS):
        raise SchemaTooNew(f"{file} was made by a newer version of this program: upgrade {DISTRIBUTION}.")
