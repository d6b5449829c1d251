"""Backups: one file that is a database with a manifest and a checksum behind it.

    database | manifest as JSON | length of the manifest, 8 bytes | SHA-256 of all before, 32 bytes | mark, 8 bytes

SQLite takes the size of a database from its first page and ignores what follows, so a backup can also be opened as it
is. Every byte is covered by the checksum or compared with a constant.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

import apsw

from ....errors import BackupDamaged, ForeignStore, SchemaTooNew, StoreCorrupt
from ....models import Progress
from ....models.upkeep import Manifest
from ....private_files import atomic_new_file
from ....product_names import DISTRIBUTION
from ....timestamps import from_microseconds
from ..file.connection import open_database
from ..schema import BACKUP_MARK, pinned_embedding, schema_version
from .inspection import inspect

FORMAT = 1
SQLITE_HEADER = b"SQLite format 3\0"
LENGTH_BYTES = 8
DIGEST_BYTES = 32
TAIL_BYTES = LENGTH_BYTES + DIGEST_BYTES + len(BACKUP_MARK)
CHUNK_BYTES = 1 << 20
STEP_PAGES = 512


def write_backup(source: apsw.Connection, target: Path, now: int, progress: Progress) -> Manifest:
    """Copy what `source` sees at this moment to a new file, and read it back. Writers go on meanwhile."""
    with atomic_new_file(target) as part:
        with closing(open_database(part)) as copy:
            copy_snapshot(source, copy, progress)
            found = inspect(copy, progress)
            model, dimension = pinned_embedding(copy)
        if not found.sound:
            raise StoreCorrupt(
                f"The store is not sound, so it is not backed up; see mcp-memory doctor: {found.reasons}"
            )
        manifest = Manifest(
            format=FORMAT,
            created_at=from_microseconds(now).isoformat(),
            schema_version=found.schema_version,
            embedding_model=model or "",
            embedding_dimension=dimension,
            memories=found.memories,
            vectors=found.vectors,
            tags=found.tags,
            database_bytes=part.stat().st_size,
        )
        _seal(part, manifest, progress)
        read_manifest(part, progress)
    return manifest


def read_manifest(backup: Path, progress: Progress) -> Manifest:
    """The manifest of a backup whose every byte was read and found to be as it was written."""
    size = backup.stat().st_size
    with backup.open("rb") as file:
        if hasattr(os, "posix_fadvise"):  # so that the disk is read, not what the system remembers of writing to it
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        is_database = file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read(TAIL_BYTES)
        if not is_database and not tail.endswith(BACKUP_MARK):
            raise ForeignStore(f"{backup} is no backup of a memory store.")
        if len(tail) < TAIL_BYTES or not tail.endswith(BACKUP_MARK):
            raise BackupDamaged(
                f"{backup} does not end as a backup does: it is damaged, cut short, or a database that is in use."
            )
        digest = hashlib.sha256()
        file.seek(0)
        for part in _chunks(file, size - DIGEST_BYTES - len(BACKUP_MARK), "Verifying", progress):
            digest.update(part)
        if digest.digest() != tail[LENGTH_BYTES : -len(BACKUP_MARK)]:
            raise BackupDamaged(f"{backup} is not as it was written: its checksum does not match.")
        length = int.from_bytes(tail[:LENGTH_BYTES], "big")
        file.seek(size - TAIL_BYTES - length)
        manifest = json.loads(file.read(length))
    if manifest["format"] > FORMAT:
        raise SchemaTooNew(f"The backup was made by a newer version of this program: upgrade {DISTRIBUTION}.")
    return Manifest(**manifest)


def extract_database(backup: Path, manifest: Manifest, to: Path, progress: Progress) -> None:
    with backup.open("rb") as source, to.open("r+b") as target:
        for part in _chunks(source, manifest.database_bytes, "Unpacking", progress):
            target.write(part)
        target.flush()
        os.fsync(target.fileno())


def copy_snapshot(source: apsw.Connection, copy: apsw.Connection, progress: Progress) -> None:
    """What `source` sees at this moment, as a database of a single file."""
    source.execute("BEGIN")
    try:
        schema_version(source)  # takes the snapshot; without it a busy writer would make the copy start over
        copy_pages(source, copy, progress)
    finally:
        source.execute("ROLLBACK")
    # It may lie on a mount where the log of a store would not work: alone, it needs no shared memory.
    copy.execute("PRAGMA locking_mode = exclusive").fetchall()
    copy.execute("PRAGMA journal_mode = delete").fetchall()
    copy.execute("PRAGMA temp_store = memory").fetchall()


def copy_pages(source: apsw.Connection, target: apsw.Connection, progress: Progress) -> None:
    """All pages of one database into another, in one transaction there."""
    with target.backup("main", source, "main") as copying:
        while not copying.done:
            copying.step(STEP_PAGES)
            progress("Copying", copying.page_count - copying.remaining, copying.page_count)


def _seal(part: Path, manifest: Manifest, progress: Progress) -> None:
    text = json.dumps(asdict(manifest), ensure_ascii=False).encode()
    ending = text + len(text).to_bytes(LENGTH_BYTES, "big")
    digest = hashlib.sha256()
    with part.open("r+b") as file:
        for chunk in _chunks(file, manifest.database_bytes, "Checksumming", progress):
            digest.update(chunk)
        digest.update(ending)
        file.seek(manifest.database_bytes)
        file.write(ending + digest.digest() + BACKUP_MARK)
        file.flush()
        os.fsync(file.fileno())


def _chunks(file: BinaryIO, size: int, doing: str, progress: Progress) -> Iterator[bytes]:
    done = 0
    while done < size:
        chunk = file.read(min(CHUNK_BYTES, size - done))
        if not chunk:
            raise BackupDamaged("The backup ends too early.")
        done += len(chunk)
        progress(doing, done >> 10, size >> 10)
        yield chunk
