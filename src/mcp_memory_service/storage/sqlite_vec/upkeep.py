"""What is done to a store file as a whole: inspect it, repair it, copy it, put a copy back."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import apsw

from ...errors import BackupDamaged, SchemaTooNew, StorageReadOnly, StoreCorrupt, StoreRefused
from ...models import Progress, Vector
from ...timestamps import compact, now_microseconds
from ..base import TextAnalyzer
from ..vector_check import checked_vector
from . import repair
from .backups import (
    Manifest,
    copy_pages,
    extract_database,
    new_private_file,
    read_manifest,
    write_backup,
)
from .connection import (
    connect,
    create_private_file,
    immediate_transaction,
    require_safe_sqlite,
    sync_folder,
    translated_errors,
)
from .filesystems import require_local
from .inspection import DATABASE_DAMAGED, Finding, Inspection, inspect
from .reads import tags_version
from .schema import MIGRATIONS, pinned_embedding, prepare, require_ours
from .threads import writer_turns

EmbedTexts: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[Vector]]]]
"""The vectors of each text, one for each of its windows."""

REPAIR_BATCH = 50


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was wrong, what still is, and where the file is kept as it was before."""

    before: Inspection
    after: Inspection
    copy: Path | None

    @property
    def mended(self) -> list[Finding]:
        return [finding for finding in self.before.findings if finding not in self.after.findings]


@dataclass(frozen=True, slots=True)
class Restored:
    manifest: Manifest
    copy: Path | None
    """What was there before, if anything was."""


class StoreUpkeep:
    """Works beside running services, as one more writer of the file."""

    def __init__(
        self,
        path: Path,
        analyze: TextAnalyzer,
        progress: Progress,
        *,
        on_any_filesystem: bool = False,
        now: Callable[[], int] = now_microseconds,
    ) -> None:
        require_safe_sqlite()
        if not on_any_filesystem:
            require_local(path)
        self._path = path.resolve()  # a link stays a link to it
        self._analyze = analyze
        self._progress = progress
        self._now = now

    def inspect(self) -> Inspection:
        self._require_file()
        with translated_errors():
            try:
                require_ours(self._path)
                with self._connected() as connection:
                    return inspect(connection, self._progress)
            except StoreCorrupt as error:
                return Inspection(0, 0, 0, (Finding(DATABASE_DAMAGED, error.message, rebuildable=False),))

    async def repair(self, model_id: str, embed: EmbedTexts) -> Repaired:
        """Rebuild what can be rebuilt, after a copy of the file was made. Vectors are made again if `model_id` is the
        model of the store."""
        before = self.inspect()
        if before.sound or not all(finding.rebuildable for finding in before.findings):
            return Repaired(before, before, None)
        copy = self._copy_path("before-repair")
        with translated_errors(), self._connected() as connection:
            self._copy_as_it_is(connection, copy)
            with writer_turns(self._path).turn():
                model, dimension = pinned_embedding(connection)
                prepare(connection, self._path, model or model_id, dimension, self._analyze)
                self._rebuild(connection)
            if model == model_id:
                await self._embed_again(connection, embed)
        return Repaired(before, self.inspect(), copy)

    def back_up(self, target: Path) -> tuple[Path, Manifest]:
        """Copy the store to a new file, or into a folder under a name with the time in it."""
        self._require_file()
        if target.is_dir():
            target /= f"{self._path.stem}-{compact(self._now())}.backup"
        with translated_errors():
            require_ours(self._path)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._connected() as connection:
                return target, write_backup(connection, target, self._now(), self._progress)

    def restore(self, backup: Path) -> Restored:
        """Put what a backup holds in the place of what the store holds, of which a backup is made first. Services that
        have the file open see it with their next query."""
        if not backup.is_file():
            raise StoreRefused(f"There is no backup at {backup}.")
        with translated_errors():
            manifest = read_manifest(backup, self._progress)
            if manifest.schema_version > len(MIGRATIONS):
                raise SchemaTooNew(f"{backup} was made by a newer version of this program: upgrade mcp-memory-service.")
            create_private_file(self._path)
            with suppress(StoreCorrupt):  # damaged: a reason to restore
                require_ours(self._path)
            with new_private_file(self._path) as unpacked:
                extract_database(backup, manifest, unpacked, self._progress)
                self._make_current(unpacked, manifest, backup)
                with writer_turns(self._path).turn():
                    copy = self._put_aside()
                    self._take_over(unpacked)
        return Restored(manifest, copy)

    def _make_current(self, unpacked: Path, manifest: Manifest, backup: Path) -> None:
        """Bring the unpacked database up to date and look whether it is sound, before anything is changed."""
        require_ours(unpacked)
        with closing(apsw.Connection(str(unpacked))) as connection:
            connection.execute("PRAGMA temp_store = memory").fetchall()
            model, dimension = manifest.embedding_model, manifest.embedding_dimension
            prepare(connection, unpacked, model, dimension, self._analyze)
            found = inspect(connection, self._progress)
        if not found.sound:
            reasons = " ".join(finding.message for finding in found.findings)
            raise BackupDamaged(f"{backup} does not hold a sound store: {reasons}")

    def _put_aside(self) -> Path | None:
        """A backup of what is there, or a plain copy if it is not sound; what SQLite cannot read is moved away."""
        if self._path.stat().st_size == 0:
            return None
        copy = self._copy_path("before-restore")
        found = self.inspect()
        if any(finding.code == DATABASE_DAMAGED for finding in found.findings):
            self._move_away(copy)
            return copy
        with self._connected() as connection:
            if found.sound:
                write_backup(connection, copy, self._now(), self._progress)
            else:
                self._copy_as_it_is(connection, copy)
        return copy

    def _move_away(self, to: Path) -> None:
        for suffix in ("", "-wal", "-shm"):
            file = self._path.with_name(self._path.name + suffix)
            if file.exists():
                file.rename(to.with_name(to.name + suffix))
        create_private_file(self._path)
        sync_folder(self._path.parent)

    def _take_over(self, unpacked: Path) -> None:
        with self._connected() as target, closing(apsw.Connection(str(unpacked))) as source:
            if target.readonly("main"):
                raise StorageReadOnly(f"{self._path} can be read but not written.")
            # A number that no process has seen yet: it tells them that the tags are others now.
            newest = max(tags_version(each) for each in (source, target) if _has_tables(each)) + 1
            source.execute("UPDATE store_info SET value = ? WHERE key = 'tags_version'", (str(newest),))
            copy_pages(source, target, self._progress)
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if not inspect(target, self._progress).sound:
                raise StoreCorrupt(f"{self._path} is not sound after the backup was put back; try again.")

    def _copy_as_it_is(self, connection: apsw.Connection, to: Path) -> None:
        create_private_file(to)
        with closing(apsw.Connection(str(to))) as copy:
            copy_pages(connection, copy, self._progress)

    def _rebuild(self, connection: apsw.Connection) -> None:
        try:
            with immediate_transaction(connection):
                repair.rebuild(connection, self._analyze)
        except apsw.ConstraintError as error:
            raise StoreCorrupt(f"Two rows stand for the same thing, so indexes cannot be rebuilt: {error}") from error

    async def _embed_again(self, connection: apsw.Connection, embed: EmbedTexts) -> None:
        missing = repair.without_vectors(connection)
        _, dimension = pinned_embedding(connection)
        for start in range(0, len(missing), REPAIR_BATCH):
            batch = missing[start : start + REPAIR_BATCH]
            made = await embed([memory.content for _, memory in batch])
            checked = [[checked_vector(vector, dimension) for vector in vectors] for vectors in made]
            with writer_turns(self._path).turn(), immediate_transaction(connection):
                for (memory_id, _), vectors in zip(batch, checked, strict=True):
                    repair.add_vectors(connection, memory_id, vectors)
            self._progress("Embedding", start + len(batch), len(missing))

    @contextmanager
    def _connected(self) -> Generator[apsw.Connection, None, None]:
        connection = connect(self._path, read_only=False)
        try:
            yield connection
        finally:
            connection.close()

    def _copy_path(self, reason: str) -> Path:
        return self._path.with_name(f"{self._path.name}.{reason}-{compact(self._now())}")

    def _require_file(self) -> None:
        if not self._path.is_file() or self._path.stat().st_size == 0:
            raise StoreRefused(f"There is no store at {self._path}.")


def _has_tables(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT count(*) FROM sqlite_schema").get > 0
