"""From a file that was read to the memories of its chunks, and to the record by which the next index run knows it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, cast

from ...errors import InvalidInput
from ...indexing import READER_VERSION, Note, NoteChunk, RawLink
from ...indexing.links import NoteNames
from ...models import (
    MAX_METADATA_CHARS,
    MAX_NAMES,
    MAX_TAGS,
    Edge,
    EdgeKind,
    JsonValue,
    Memory,
    SourceRecord,
    identity_hash,
    json_chars,
)
from ..write import checks
from .files import FoundFile
from .names import CONTEXT_FILE, KIND, context_name, document_name, span_of

MAX_ANCHOR_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Document:
    """A file as an index run knows it: what it is called, and what it links to."""

    source: str
    fingerprint: str
    digest: str
    """Of its bytes."""
    names: NoteNames
    chunk_ids: tuple[str, ...]
    links: tuple[tuple[int, RawLink], ...]
    """As they are written, each with the number of the chunk it stands in."""
    targets: tuple[tuple[int, EdgeKind, str], ...] = ()
    """The edges that the store has of it: chunk, kind and name."""
    link_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of its links were resolved, and how many were not for which reason."""

    @property
    def edges(self) -> list[Edge]:
        weights: Mapping[EdgeKind, float] = {"mentions": MENTION_WEIGHT}
        return [
            Edge(self.chunk_ids[chunk], name, kind, weights.get(kind, 1.0), by_name=True)
            for chunk, kind, name in self.targets
        ]

    @property
    def record(self) -> SourceRecord:
        links = [[chunk, link.target, link.anchor, link.form, link.line] for chunk, link in self.links]
        details: dict[str, JsonValue] = {
            "digest": self.digest,
            "path": self.names.path,
            "title": self.names.title,
            "aliases": list(self.names.aliases),
            "keys": list(self.names.keys),
            "chunks": list(self.chunk_ids),
            "links": links,
            "targets": [list(target) for target in self.targets],
            "link_counts": dict(self.link_counts),
        }
        return SourceRecord(self.source, self.fingerprint, details)

    @classmethod
    def of(cls, record: SourceRecord) -> "Document":
        details = cast("Mapping[str, Any]", record.details)
        return cls(
            record.source,
            record.fingerprint,
            details["digest"],
            NoteNames(details["path"], details["title"], tuple(details["aliases"]), tuple(details["keys"])),
            tuple(details["chunks"]),
            tuple((chunk, RawLink(*link)) for chunk, *link in details["links"]),
            tuple((chunk, kind, name) for chunk, kind, name in details["targets"]),
            details["link_counts"],
        )

    def linked_as(self, before: "Document | None") -> "Document | None":
        """With the edges that it had before it was read again, if it is called the same and its links are those; None
        if they have to be resolved. What came, went or changed its name beside it is looked at later."""
        if before is None or before.names != self.names or not before.is_read_like(self.fingerprint):
            return None
        written = [(chunk, replace(link, line=0)) for chunk, link in self.links]
        if written != [(chunk, replace(link, line=0)) for chunk, link in before.links]:
            return None
        return replace(self, targets=before.targets, link_counts=before.link_counts)

    def is_read_like(self, fingerprint: str) -> bool:
        """Whether a file with that fingerprint would be read in the same way, if it has the same bytes."""
        return self.fingerprint.rsplit(":", 2)[0] == fingerprint.rsplit(":", 2)[0]


MENTION_WEIGHT = 0.5
"""A title that stands in a text says less than a link that somebody made."""


def fingerprint_of(file: FoundFile, root: str, *, mentions: bool) -> str:
    """Equal as long as the file was not touched, and would be read and linked in the same way."""
    # Another root gives its notes other paths, and so other links.
    place = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{READER_VERSION}:{int(mentions)}:{place}:{file.size}:{file.modified_ns}"


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A file that was just read."""

    document: Document
    memories: tuple[Memory, ...]
    problems: tuple[str, ...]


def read_document(
    note: Note, file: FoundFile, root: str, namespace: str, digest: str, fingerprint: str
) -> ReadDocument:
    """The memories of its chunks, in their order."""
    path = PurePosixPath(file.source).relative_to(root).as_posix()
    memories: list[Memory] = []
    links: list[tuple[int, RawLink]] = []
    problems = list(note.problems)
    front, too_large = _front_matter(note)
    problems += ["its front matter is too large to be kept"] if too_large else []
    for chunk in note.chunks:
        try:
            memory = _memory(note, chunk, len(memories), file, root, path, namespace, front)
        except InvalidInput as error:
            problems.append(f"lines {chunk.first_line} to {chunk.last_line} are left out: {error.message}")
            continue
        links += [(len(memories), link) for link in chunk.links]
        memories.append(memory)
    names = NoteNames.of(path, note)
    ids = tuple(memory.content_hash for memory in memories)
    document = Document(file.source, fingerprint, digest, names, ids, tuple(links))
    return ReadDocument(document, tuple(memories), tuple(problems))


def _memory(
    note: Note,
    chunk: NoteChunk,
    number: int,
    file: FoundFile,
    root: str,
    path: str,
    namespace: str,
    front: Mapping[str, JsonValue],
) -> Memory:
    anchor = " > ".join(chunk.heading_path)[:MAX_ANCHOR_CHARS]
    checks.check_content(chunk.text, len(chunk.text))
    modified = file.modified_ns // 1_000
    return Memory(
        content=chunk.text,
        content_hash=identity_hash(KIND, file.source, anchor, chunk.text),
        created_at=modified if note.dated is None else note.dated,
        updated_at=modified,
        tags=_good_tags((*note.tags, *chunk.tags)),
        memory_type=KIND,
        metadata={
            **front,
            "title": note.title,
            "path": path,
            "root": root,
            "heading_path": list(chunk.heading_path),
            "lines": [chunk.first_line, chunk.last_line],
            "span": span_of(chunk.text),
        },
        namespace=namespace,
        source=file.source,
        sequence=number,
        kind=KIND,
        anchor=anchor,
        names=_names(note, chunk, number, file.source, path),
    )


def _names(note: Note, chunk: NoteChunk, number: int, source: str, path: str) -> tuple[str, ...]:
    names = [document_name(source)]
    if number == 0 and _describes_folder(note, path):
        names.append(context_name(PurePosixPath(source).parent.as_posix()))
    names += [document_name(source, key) for key in chunk.keys]
    return tuple(names[:MAX_NAMES])


def _describes_folder(note: Note, path: str) -> bool:
    """Whether it says something about its folder: a note of that name, or the note of the folder with a `context`."""
    inside = PurePosixPath(path)
    is_folder_note = inside.stem.casefold() in {inside.parent.name.casefold(), "index", "readme"}
    return inside.name == CONTEXT_FILE or (is_folder_note and isinstance(note.front_matter.get("context"), str))


def _good_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Those that can be tags: what a note has beside them is still found by its words."""
    good: dict[str, None] = {}
    for tag in tags:
        try:
            good |= dict.fromkeys(checks.checked_tags([tag]))
        except InvalidInput:
            continue
    return tuple(good)[:MAX_TAGS]


def _front_matter(note: Note) -> tuple[Mapping[str, JsonValue], bool]:
    """What the note says of itself, as far as it can be kept; and whether it is too large for that."""
    try:
        checks.check_metadata(note.front_matter)
    except InvalidInput:
        return {}, True
    return (note.front_matter, False) if json_chars(note.front_matter) <= MAX_METADATA_CHARS // 2 else ({}, True)
