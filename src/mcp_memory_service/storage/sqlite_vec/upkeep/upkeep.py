"""What is done to a store file as a whole: inspect it, repair it, copy it, put a copy back."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw

from ....errors import BackupDamaged, StoreCorrupt
from ....models import Progress
from ....models.upkeep import DATABASE_DAMAGED, ONE_MEMORY_ONLY, Finding, Inspection, Manifest, Repaired, Restored
from ....private_files import atomic_new_file, new_private_file
from ....timestamps import compact, now_microseconds
from ...ports import TextAnalyzer
from ...ports.upkeep import EmbedTexts
from ...vectors import checked_vector
from ..file.connection import (
    PAGE_BYTES,
    connect,
    immediate_transaction,
    open_database,
    real_path,
    require_store_file,
    translated_errors,
)
from ..file.connections import writer_queue
from ..file.filesystems import require_trustworthy
from ..index import index_file
from ..queries.writes import add_vectors
from ..rows import memory_by_id
from ..schema import is_backup, pinned_embedding, prepare, require_ours
from . import repair
from .backups import copy_snapshot, read_manifest, write_backup
from .index_file import index_warnings
from .inspection import TABLE_MISSING, foreign, inspect, is_older_version, lacking_vectors
from .replacement import put_aside, take_over
from .restore import restore

REPAIR_BATCH = 50


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
        require_trustworthy(path, on_any_filesystem=on_any_filesystem)
        self._path = real_path(path)
        self._analyze = analyze
        self._progress = progress
        self._now = now

    def inspect(self) -> Inspection:
        try:
            with translated_errors():
                require_store_file(self._path)
                if is_backup(self._path):
                    # It was inspected when it was made: it is sound if it is as it was written.
                    found = read_manifest(self._path, self._progress)
                    version, counts = found.schema_version, (found.memories, found.vectors, found.tags)
                    with closing(open_database(self._path, apsw.SQLITE_OPEN_READONLY)) as connection:
                        findings = tuple(foreign(connection))  # who makes a backup can seal it as well
                    return Inspection(version, *counts, findings, is_older_version(version))
                require_ours(self._path)
                with self._connected() as connection:
                    result = inspect(connection, self._progress, writer_queue(self._path).turn)
                    if not result.sound or result.is_older:
                        return result
                    return replace(result, warnings=tuple(index_warnings(connection, self._path)))
        except (StoreCorrupt, BackupDamaged) as error:  # it cannot even be opened
            return Inspection(0, 0, 0, 0, (Finding(DATABASE_DAMAGED, error.message, rebuildable=False),))

    async def repair(self, model_id: str, embed: EmbedTexts) -> Repaired:
        """Rebuild what can be rebuilt, after a copy of the file was made. Vectors are made again if `model_id` is the
        model of the store."""
        before = self.inspect()
        if before.warnings:  # a service builds it anew
            index_file(self._path).unlink(missing_ok=True)
            return Repaired(before, self.inspect(), None)
        codes = {finding.code for finding in before.findings if finding.rebuildable}
        beyond_repair = {finding.code for finding in before.findings if not finding.rebuildable} - ONE_MEMORY_ONLY
        if not codes or beyond_repair:
            return Repaired(before, before, None)
        with translated_errors():
            if codes & {DATABASE_DAMAGED, TABLE_MISSING}:
                copy = self._make_anew()
            else:
                copy = self._rebuild(drop_unfit_vectors_of=model_id)
            with self._connected() as connection:
                model, dimension = pinned_embedding(connection)
                if model == model_id:
                    await self._embed_again(connection, dimension, embed)
        return Repaired(before, self.inspect(), copy)

    def back_up(self, target: Path, *, into_folder: bool = False) -> tuple[Path, Manifest]:
        """Copy the store to a new file, or into a folder under a name with the time in it."""
        with translated_errors():
            require_store_file(self._path)
            require_ours(self._path)
            if into_folder:
                target.mkdir(mode=0o700, parents=True, exist_ok=True)
            if target.is_dir():
                target /= f"{self._path.stem}-{compact(self._now())}.backup"
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._connected() as connection:
                return target, write_backup(connection, target, self._now(), self._progress)

    def restore(self, backup: Path) -> Restored:
        """Put what a backup holds in the place of what the store holds, of which a copy is made first."""
        return restore(backup, self._path, self._analyze, self._progress, self._now())

    def _make_anew(self) -> Path | None:
        """A new database from the rows, for pages that are damaged or tables that are gone."""
        with new_private_file(self._path) as fresh, writer_queue(self._path).turn():
            with closing(open_database(self._path)) as damaged, closing(open_database(fresh)) as into:
                model, dimension = pinned_embedding(damaged)
                into.execute(f"PRAGMA page_size = {PAGE_BYTES}").fetchall()
                prepare(into, fresh, model or "", dimension, self._analyze)
                repair.salvage(damaged, into, self._analyze, self._progress)
            copy = put_aside(self._path, "before-repair", self._now(), self._progress)
            take_over(self._path, fresh, self._progress)
        return copy

    def _rebuild(self, *, drop_unfit_vectors_of: str) -> Path:
        copy = self._path.with_name(f"{self._path.name}.before-repair-{compact(self._now())}")
        with self._connected() as connection:
            with atomic_new_file(copy) as part, closing(open_database(part)) as target:
                copy_snapshot(connection, target, self._progress)
            model, _ = pinned_embedding(connection)
            try:
                with writer_queue(self._path).turn(), immediate_transaction(connection):
                    repair.rebuild(connection, self._analyze, drop_unfit_vectors=model == drop_unfit_vectors_of)
            except apsw.ConstraintError as error:
                raise StoreCorrupt(f"Two rows stand for the same, so indexes cannot be rebuilt: {error}") from error
        return copy

    async def _embed_again(self, connection: apsw.Connection, dimension: int | None, embed: EmbedTexts) -> None:
        missing = lacking_vectors(connection)
        for start in range(0, len(missing), REPAIR_BATCH):
            ids = missing[start : start + REPAIR_BATCH]
            batch = [memory for memory in (memory_by_id(connection, memory_id) for memory_id in ids) if memory]
            made = await embed([(memory.heading, memory.content) for memory in batch])
            checked = [[checked_vector(vector, dimension) for vector in vectors] for vectors in made]
            with writer_queue(self._path).turn(), immediate_transaction(connection):
                for memory, vectors in zip(batch, checked, strict=True):
                    add_vectors(connection, memory, vectors)
            self._progress("Embedding", start + len(ids), len(missing))

    def _connected(self) -> closing[apsw.Connection]:
        return closing(connect(self._path, read_only=False))
