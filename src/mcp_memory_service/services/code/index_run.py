"""One index run of code: what changed is read, edges are resolved among all files, and what became of each is stored.

Each file is replaced in one transaction, so that a run that is interrupted leaves every file as it was or as it is; the
next run goes on from there. The record of the root says whether edges were resolved since a file last changed.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

from ...indexing.code import ProjectConfig
from ...models import EmbeddedMemory, JsonValue, SourceRecord
from ..sources.files import FoundFile, RefusedFile
from ..sources.order import RunOrder
from ..sources.reports import CodeCounts, FileProblem, IndexReport
from ..sources.root_records import is_root, is_settled, open_root, record_name, said_of, settled_root
from .known_files import KnownFile, digest_of, is_known, refusal
from .known_project import KnownProject, without_collector
from .looking import Look, look
from .names import project_id
from .project_settings import ProjectFiles, config_digest
from .readers import Readers
from .reading import CodeReading, ReadFile, fingerprint_now
from .stored_symbols import Place, stored_edges

PART_FILES = 200
"""Opened at once: their texts are in memory until they are read."""
KEPT_SECONDS = 600.0
"""So long what is known of a project stays in memory after a run: the next one need not read it from the store."""


class CodeRun:
    """Of all that is at or below the target of an order; edges are resolved within its root."""

    def __init__(self, order: RunOrder) -> None:
        self._order = order
        self._storage = order.storage
        self._namespace = order.namespace
        self._root = order.root.as_posix()
        self._place = Place(self._root, project_id(self._root), order.namespace)
        self._report = IndexReport(self._root, order.target.as_posix(), order.dry_run)
        self._project = KnownProject(ProjectFiles({}).config(order.root, ()))
        self._read: dict[str, ReadFile] = {}
        """What was read now, by source."""
        self._touched: set[str] = set()
        """Sources of files with another date and the same bytes."""

    async def run(self) -> IndexReport:
        report, project = self._report, self._place.project
        records = await self._storage.list_sources(self._namespace, self._root, details=False)
        known = {each.source: each for each in records if not is_root(each)}
        of_root = next((each for each in records if each.source == record_name(self._root)), open_root(self._root))
        said, is_whole = said_of(of_root), is_settled(of_root)
        seen = await asyncio.to_thread(lambda: look(self._order, project, known, said, settled=is_whole))
        for refused in seen.changes.refused:
            self._refuse(refused)
        report.unchanged = report.documents = len(seen.changes.unchanged)
        if seen.config is None:
            report.code = replace(CodeCounts.of(said), left_out=self._left_out(seen, said))
            return report
        before = await self._load(of_root)
        if self._order.dry_run:
            await self._open(seen, before, seen.config)
            renamed = {old for old, _ in report.renamed}
            report.removed += [each for each in seen.changes.gone if each in before and each not in renamed]
            return report
        mark = open_root(self._root)
        await self._mark(mark)
        await self._update(seen, before, seen.config, renames=config_digest(seen.config) != said.get("config"))
        await self._settle(seen, said, mark)
        return report

    async def _load(self, of_root: SourceRecord) -> dict[str, KnownFile]:
        """All that is known of files: as this process still has it, if nobody else has changed anything since; else
        from the store."""
        kept = self._order.kept.pop(self._root, None)
        if isinstance(kept, KnownProject) and kept.settled_as == of_root.fingerprint:
            self._project = kept
            return dict(kept.files)
        records = await self._storage.list_sources(self._namespace, self._root)
        with without_collector():
            files = {each.source: KnownFile.of(each) for each in records if is_known(each)}
        for file in files.values():
            if file.is_of(self._place.project):  # of others no more is of use than since when their symbols are there
                self._project.put(file)
        return files

    async def _update(
        self, seen: Look, before: Mapping[str, KnownFile], config: ProjectConfig, *, renames: bool
    ) -> None:
        """Read what changed, resolve, and store what came of it. `renames`: whether modules may have other names."""
        project, progress = self._project, self._order.progress
        project.configure(config)
        for source in seen.changes.gone:
            project.remove(source)
        renamed = await asyncio.to_thread(project.renamed_modules) if renames else ()
        await self._open(seen, before, config, renamed)
        progress("Resolving references", 0, 1)
        changed = await asyncio.to_thread(project.resolve)
        total = len(self._read)
        for number, source in enumerate(self._read):
            progress("Storing symbols", number, total)
            await self._replace(source, before.get(source))
        for source in seen.changes.gone:
            await self._remove(source, was_read=source in before)
        await self._relink(changed)
        progress("Storing symbols", total, total)

    async def _open(
        self, seen: Look, before: Mapping[str, KnownFile], config: ProjectConfig, renamed: Sequence[str] = ()
    ) -> None:
        """Open what was touched, and read what changed of it; files whose module is renamed are read in any case."""
        changed = {file.source: file for file in seen.changes.files}
        files = [*changed.values(), *_found_again([each for each in renamed if each not in changed])]
        reread = {*renamed, *(changed if self._order.anew else ())}
        moved = {before[source].digest: source for source in seen.changes.gone if source in before}
        with Readers() as readers:
            reading = CodeReading(self._place, readers)
            for start in range(0, len(files), PART_FILES):
                part = files[start : start + PART_FILES]
                self._order.progress("Reading code", start, len(files))
                results = await asyncio.to_thread(reading.read, part, before, reread, moved, config)
                for file, result in zip(part, results, strict=True):
                    await self._take(file, result, before, moved)
        self._order.progress("Reading code", len(files), len(files))

    async def _take(
        self,
        file: FoundFile,
        result: ReadFile | KnownFile | RefusedFile,
        before: Mapping[str, KnownFile],
        moved: dict[str, str],
    ) -> None:
        report, source = self._report, file.source
        if isinstance(result, RefusedFile):
            await self._refused(file, result)
        elif isinstance(result, KnownFile):
            report.unchanged += 1
            self._touched.add(source)
            self._project.put(result)
        else:
            origin = moved.pop(result.file.digest, None) if source not in before else None
            if source in before:
                report.changed.append(source)
            elif origin is None:
                report.added.append(source)
            else:
                report.renamed.append((origin, source))
            report.problems += [FileProblem(source, problem) for problem in result.problems]
            self._read[source] = result
            self._project.put(result.file)

    async def _refused(self, file: FoundFile, refused: RefusedFile) -> None:
        """A file that turned out not to be read when it was opened."""
        self._refuse(refused)
        if refused.keeps_old:
            return
        if refused.source in self._project.files:
            self._project.remove(refused.source)
            self._report.removed.append(refused.source)
        if not self._order.dry_run:
            record = refusal(refused.source, fingerprint_now(file, self._place.project), refused.reason)
            outcome = await self._storage.replace_source(self._namespace, refused.source, (), (), record)
            self._report.chunks_deleted += outcome.deleted

    def _refuse(self, refused: RefusedFile) -> None:
        self._report.refused.append(FileProblem(refused.source, refused.reason))

    async def _replace(self, source: str, before: KnownFile | None) -> None:
        read = self._read[source]
        edges = self._project.edges_of(read.file)
        file = replace(read.file, edges=digest_of(edges))
        came = len(
            {each.id for each in file.symbols}.difference(each.id for each in (before.symbols if before else ()))
        )
        if came:
            await self._order.require_room(came)
        items = [EmbeddedMemory(memory, ()) for memory in read.memories]
        stored = stored_edges(edges, file.symbols, self._place.project)
        outcome = await self._storage.replace_source(self._namespace, source, items, stored, file.record)
        self._project.files[source] = file
        self._report.chunks_created += outcome.created
        self._report.chunks_updated += outcome.updated
        self._report.chunks_deleted += outcome.deleted

    async def _remove(self, source: str, *, was_read: bool) -> None:
        if was_read and source not in {origin for origin, _ in self._report.renamed}:
            self._report.removed.append(source)
        outcome = await self._storage.replace_source(self._namespace, source, (), ())
        self._report.chunks_deleted += outcome.deleted

    async def _relink(self, changed: Set[str]) -> None:
        """Files that were not read, and whose edges lead elsewhere now, or whose date is another one."""
        for source, file in list(self._project.files.items()):
            is_touched = source in self._touched
            if source in self._read or not (is_touched or file.path in changed):
                continue
            edges = self._project.edges_of(file)
            now = replace(file, edges=digest_of(edges))
            if now.edges != file.edges or is_touched:
                stored = stored_edges(edges, file.symbols, self._place.project)
                await self._storage.relink_source(self._namespace, source, stored, now.record)
                self._project.files[source] = now

    async def _settle(self, seen: Look, said: Mapping[str, JsonValue], mark: SourceRecord) -> None:
        report, project = self._report, self._project
        assert seen.config is not None, "something has changed"
        report.documents = len(project.files)
        report.code = CodeCounts(
            project.symbols,
            project.edges_by_kind,
            project.edges_by_certainty,
            project.languages,
            self._left_out(seen, said),
        )
        now = await self._storage.list_sources(self._namespace, mark.source, details=False)
        if [each.fingerprint for each in now] != [mark.fingerprint]:
            # Whoever changed files meanwhile knows others than these: the next run looks at all of them.
            await self._mark(open_root(self._root))
            return
        config = config_digest(seen.config)
        of_run: dict[str, JsonValue] = {
            "config": config,
            "project_files": seen.project_files.files,
            "run": token_hex(4),
        }
        settled = settled_root(self._root, {**report.code.said, **of_run}, {})
        await self._mark(settled)
        project.settled_as = settled.fingerprint
        self._order.kept[self._root] = project
        asyncio.get_running_loop().call_later(KEPT_SECONDS, self._forget, project)

    def _forget(self, project: KnownProject) -> None:
        if self._order.kept.get(self._root) is project:
            del self._order.kept[self._root]

    def _left_out(self, seen: Look, said: Mapping[str, JsonValue]) -> Mapping[str, int]:
        """By reason, of the whole root; what was said of it, if a part of it was looked at."""
        if seen.target != self._order.root and said:
            return CodeCounts.of(said).left_out
        return dict(sorted(Counter(each.reason for each in self._report.refused).items()))

    async def _mark(self, root: SourceRecord) -> None:
        await self._storage.relink_source(self._namespace, root.source, (), root)


def _found_again(sources: Sequence[str]) -> list[FoundFile]:
    """Files that need not have changed; those that are gone are left to the next run."""
    found: list[FoundFile] = []
    for source in sources:
        path = Path(source)
        if path.is_file():
            status = path.stat()
            found.append(FoundFile(path, status.st_size, status.st_mtime_ns))
    return found
