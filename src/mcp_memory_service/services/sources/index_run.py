"""One index run: what changed since the last one is read, what is gone is removed, and links are resolved.

Each file is replaced in one transaction, so that a run that is interrupted leaves every file as it was or as it is; the
next run goes on from there. The record of the root says whether links were resolved since a file last changed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ...models import EmbeddedMemory, Progress, SourceRecord, Vector, in_scope
from ...storage.ports import Store
from .catalogue import Catalogue
from .documents import Document, ReadDocument
from .files import FoundFile, RefusedFile, found_files
from .reading import Reading
from .reports import FileProblem, IndexReport
from .root_records import is_root, is_settled, links_of, open_root, record_name

BATCH_FILES = 200
"""Read before the first of them is written: links between them are right at once, and memory is bounded."""

MAX_SINGLE_LOOKUPS = 100
"""Up to so many files the records of those that changed are asked for one by one; else all are."""

KnownVectors: TypeAlias = Mapping[tuple[str, str], tuple[Vector, ...]]
"""Of a heading and a text."""


@dataclass(frozen=True, slots=True)
class _Changes:
    files: Sequence[FoundFile]
    """New, or touched since they were read."""
    gone: Sequence[str]
    refused: Sequence[RefusedFile]
    unchanged: int


class IndexRun:
    """Of all that is at or below `target`; links resolve within the root. `require_room` is asked before memories come
    in addition. With `dry_run` nothing is written, and the report says what would be."""

    def __init__(
        self,
        storage: Store,
        reading: Reading,
        target: Path,
        require_room: Callable[[int], Awaitable[None]],
        progress: Progress,
        *,
        own_folder: Path | None = None,
        dry_run: bool = False,
    ) -> None:
        self._storage = storage
        self._reading = reading
        self._namespace = reading.namespace
        self._root = reading.root.as_posix()
        self._target = target
        self._require_room = require_room
        self._progress = progress
        self._own_folder = own_folder
        self._dry_run = dry_run
        self._report = IndexReport(self._root, target.as_posix(), dry_run)
        self._catalogue = Catalogue(self._root)
        self._refused_expected = False
        """Whether links may lead to a file that turned out to be no document."""

    async def run(self) -> IndexReport:
        report = self._report
        records = await self._storage.list_sources(self._namespace, self._root, details=False)
        known = {each.source: each for each in records if not is_root(each)}
        of_root = next((each for each in records if each.source == record_name(self._root)), open_root(self._root))
        changes = await asyncio.to_thread(self._changes, known)
        report.documents, report.unchanged, report.links = len(known), changes.unchanged, links_of(of_root)
        for refused in changes.refused:
            self._refuse(refused)
        if not changes.files and not changes.gone and is_settled(of_root):
            return report
        await self._look_up(changes, of_root)
        names_before = dict(self._catalogue.names)
        mark = open_root(self._root)
        await self._mark(mark)
        await self._read(changes)
        for source in changes.gone:
            await self._remove(source)
        if not is_settled(of_root) or self._catalogue.names != names_before or self._refused_expected:
            await self._relink()
        report.documents, report.links = len(self._catalogue.names), self._catalogue.counted_links
        now = await self._storage.list_sources(self._namespace, mark.source, details=False)
        is_alone = [each.fingerprint for each in now] == [mark.fingerprint]
        # Whoever changed documents meanwhile knows others than these: the next run looks at all of them.
        await self._mark(self._catalogue.record if is_alone else open_root(self._root))
        return report

    def _changes(self, known: Mapping[str, SourceRecord]) -> _Changes:
        """By name, size and date alone: no file is opened."""
        files: list[FoundFile] = []
        refused: list[RefusedFile] = []
        there: set[str] = set()
        unchanged = 0
        for found in found_files(self._target, self._reading.root, self._own_folder):
            if isinstance(found, RefusedFile):
                refused.append(found)
                there |= {each for each in known if found.keeps_old and in_scope(each, found.source)}
                continue
            there.add(found.source)
            record = known.get(found.source)
            if record is not None and record.fingerprint == self._reading.fingerprint(found):
                unchanged += 1
            else:
                files.append(found)
        gone = [each for each in known if each not in there and in_scope(each, self._target.as_posix())]
        return _Changes(files, gone, refused, unchanged)

    async def _look_up(self, changes: _Changes, of_root: SourceRecord) -> None:
        """What is known of the documents that may change, and what the others are called."""
        asked = [*(file.source for file in changes.files), *changes.gone]
        settled: list[SourceRecord] = []
        if is_settled(of_root) and len(asked) <= MAX_SINGLE_LOOKUPS:
            settled = await self._storage.list_sources(self._namespace, of_root.source)
        if any(map(is_settled, settled)):  # unless another run has begun meanwhile
            self._catalogue = Catalogue.settled(settled[0])
            for source in asked:
                self._catalogue.look_up(await self._documents(source))
        else:
            self._catalogue = Catalogue.of_all(self._root, await self._documents(self._root))
        self._catalogue.expected = {file.source for file in changes.files}

    async def _documents(self, scope: str) -> list[Document]:
        records = await self._storage.list_sources(self._namespace, scope)
        # One without details was begun and not completed: the file is read again.
        whole = [record for record in records if record.details and not is_root(record)]
        return await asyncio.to_thread(lambda: list(map(Document.of, whole)))

    async def _read(self, changes: _Changes) -> None:
        """Read what was touched, and put what changed in the place of what was read before."""
        documents = self._catalogue.documents
        moved = {documents[source].digest: source for source in changes.gone if source in documents}
        total = len(changes.files)
        for start in range(0, total, BATCH_FILES):
            self._progress("Indexing files", start, total)
            batch = changes.files[start : start + BATCH_FILES]
            known = dict(self._catalogue.documents)
            read = await asyncio.to_thread(
                lambda: [self._reading.read(file, known.get(file.source)) for file in batch]  # noqa: B023 - awaited here
            )
            for each in read:
                if not isinstance(each, RefusedFile):
                    self._catalogue.put(each.document if isinstance(each, ReadDocument) else each)
            fresh = [each for each in read if isinstance(each, ReadDocument)]
            linked = await asyncio.to_thread(self._linked, fresh, known)
            for each in read:
                if isinstance(each, RefusedFile):
                    await self._refused(each)
                elif isinstance(each, Document):
                    await self._touched(each)
            for each, document in zip(fresh, linked, strict=True):
                await self._replace(each, document, known.get(document.source), moved)
        self._progress("Indexing files", total, total)

    def _linked(self, read: Sequence[ReadDocument], known: Mapping[str, Document]) -> list[Document]:
        if not self._reading.mentions:
            same = [each.document.linked_as(known.get(each.document.source)) for each in read]
            linked = [each for each in same if each is not None]
            if len(linked) == len(read):  # most edits: no note has to be looked for
                return linked
        linker = self._catalogue.linker(mentions=self._reading.mentions)
        return [linker.linked(each.document, [memory.content for memory in each.memories]) for each in read]

    async def _replace(
        self, read: ReadDocument, document: Document, before: Document | None, moved: dict[str, str]
    ) -> None:
        report, source = self._report, document.source
        origin = moved.pop(document.digest, None) if before is None else None
        if before is not None:
            report.changed.append(source)
        elif origin is None:
            report.added.append(source)
        else:
            report.renamed.append((origin, source))
        report.problems += [FileProblem(source, problem) for problem in read.problems]
        self._catalogue.put(document)
        if self._dry_run:
            return
        came = len(set(document.chunk_ids) - set(before.chunk_ids if before else ()))
        if came:
            await self._require_room(came)
        vectors: KnownVectors = await self._vectors_of(self._catalogue.documents[origin]) if origin else {}
        items = [EmbeddedMemory(each, vectors.get((each.heading, each.content), ())) for each in read.memories]
        outcome = await self._storage.replace_source(self._namespace, source, items, document.edges, document.record)
        report.chunks_created += outcome.created
        report.chunks_updated += outcome.updated
        report.chunks_deleted += outcome.deleted

    async def _vectors_of(self, moved: Document) -> KnownVectors:
        """What was made for a file under its earlier name need not be made again."""
        embedded = await self._storage.get_embedded(self._namespace, moved.chunk_ids)
        return {(each.memory.heading, each.memory.content): each.vectors for each in embedded}

    async def _touched(self, document: Document) -> None:
        """The same bytes with another date: only the record changes."""
        self._report.unchanged += 1
        if not self._dry_run:
            await self._storage.relink_source(self._namespace, document.source, document.edges, document.record)

    async def _refused(self, refused: RefusedFile) -> None:
        """A file that turned out to be none when it was opened."""
        self._refuse(refused)
        self._refused_expected = True
        self._catalogue.expected.discard(refused.source)
        if not refused.keeps_old and refused.source in self._catalogue.documents:
            await self._remove(refused.source)

    def _refuse(self, refused: RefusedFile) -> None:
        self._report.refused.append(FileProblem(refused.source, refused.reason))

    async def _remove(self, source: str) -> None:
        self._catalogue.remove(source)
        if source not in {origin for origin, _ in self._report.renamed}:
            self._report.removed.append(source)
        if not self._dry_run:
            outcome = await self._storage.replace_source(self._namespace, source, (), ())
            self._report.chunks_deleted += outcome.deleted

    async def _relink(self) -> None:
        """Notes came, went or got other names: what all links lead to is worked out anew."""
        linker = await asyncio.to_thread(lambda: self._catalogue.linker(mentions=self._reading.mentions))
        if len(self._catalogue.documents) < len(self._catalogue.names):
            self._catalogue.look_up(await self._documents(self._root))
        documents = list(self._catalogue.documents.values())
        for start in range(0, len(documents), BATCH_FILES):
            self._progress("Resolving links", start, len(documents))
            batch = documents[start : start + BATCH_FILES]
            texts = (
                [await self._texts_of(document) for document in batch] if self._reading.mentions else [()] * len(batch)
            )
            linked = await asyncio.to_thread(lambda: list(map(linker.linked, batch, texts)))  # noqa: B023 - awaited here
            for before, document in zip(batch, linked, strict=True):
                if document != before:
                    self._catalogue.put(document)
                    await self._save_links(document)
        self._progress("Resolving links", len(documents), len(documents))

    async def _save_links(self, document: Document) -> None:
        if not self._dry_run:
            await self._storage.relink_source(self._namespace, document.source, document.edges, document.record)

    async def _texts_of(self, document: Document) -> list[str]:
        found = await self._storage.get_many(self._namespace, document.chunk_ids)
        by_id = {memory.content_hash: memory.content for memory in found}
        return [by_id.get(each, "") for each in document.chunk_ids]

    async def _mark(self, root: SourceRecord) -> None:
        if not self._dry_run:
            await self._storage.relink_source(self._namespace, root.source, (), root)
