"""All documents of a root, and how they link to each other."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ...indexing.links import LinkResolver, NoteNames
from ...indexing.mentions import TitleIndex
from ...models import EdgeKind, JsonValue, SourceRecord
from .documents import Document
from .names import document_name
from .root_records import links_of, root_of, settled_root

NO_NOTE_LINKS = frozenset({"external", "file"})
"""What links lead to that were never meant for a note."""


@dataclass
class Catalogue:
    """What links lead to depends on what all documents are called: it is worked out anew when one comes, goes or gets
    another name. Sources are absolute, paths relative to the root."""

    root: str
    names: dict[str, NoteNames] = field(default_factory=dict[str, NoteNames])
    """Of all documents, by source."""
    documents: dict[str, Document] = field(default_factory=dict[str, Document])
    """Those that were looked up: all that are about to change, or all there are."""
    link_counts: Counter[str] = field(default_factory=Counter[str])
    """How many links there are in all documents, by what became of them."""
    expected: set[str] = field(default_factory=set[str])
    """Sources of files that are there and not read yet: links lead to them by path already."""

    @classmethod
    def of_all(cls, root: str, documents: Iterable[Document]) -> "Catalogue":
        catalogue = cls(root)
        for document in documents:
            catalogue.put(document)
        return catalogue

    @classmethod
    def settled(cls, of_root: SourceRecord) -> "Catalogue":
        """With what all documents are called, and nothing else of them yet."""
        called = cast("Mapping[str, Any]", of_root.details.get("names", {}))
        names = {
            source: NoteNames(path, title, tuple(aliases), tuple(keys))
            for source, (path, title, aliases, keys) in called.items()
        }
        return cls(root_of(of_root), names, link_counts=Counter(links_of(of_root)))

    @property
    def record(self) -> SourceRecord:
        """Of the root, when all its links are resolved."""
        called: dict[str, JsonValue] = {
            source: [each.path, each.title, list(each.aliases), list(each.keys)] for source, each in self.names.items()
        }
        return settled_root(self.root, self.counted_links, called)

    @property
    def counted_links(self) -> dict[str, int]:
        return {status: count for status, count in sorted(self.link_counts.items()) if count}

    def look_up(self, documents: Iterable[Document]) -> None:
        """Of documents that were known by their names alone, the rest."""
        for document in documents:
            if document.source in self.names:
                self.documents.setdefault(document.source, document)

    def put(self, document: Document) -> None:
        """In the place of what was known of it, which was looked up before."""
        if before := self.documents.get(document.source):
            self.link_counts.subtract(before.link_counts)
        self.names[document.source] = document.names
        self.documents[document.source] = document
        self.link_counts.update(document.link_counts)

    def remove(self, source: str) -> None:
        if before := self.documents.pop(source, None):
            self.link_counts.subtract(before.link_counts)
        self.names.pop(source, None)
        self.expected.discard(source)

    def linker(self, *, mentions: bool) -> "Linker":
        """For the documents as they are now."""
        unread = [NoteNames(each.removeprefix(self.root).lstrip("/"), "") for each in self.expected - self.names.keys()]
        names = [*unread, *self.names.values()]
        titles = TitleIndex((each.path, (each.title, *each.aliases)) for each in names) if mentions else None
        return Linker(self.root.rstrip("/"), LinkResolver(names), titles)


@dataclass(frozen=True, slots=True)
class Linker:
    root: str
    resolver: LinkResolver
    titles: TitleIndex | None
    """None if what is only mentioned does not count."""

    def linked(self, document: Document, texts: Sequence[str] = ()) -> Document:
        """The document with the edges that its links make, and the titles that are mentioned in the texts of its
        chunks."""
        targets: dict[tuple[int, EdgeKind, str], None] = {}
        counts: Counter[str] = Counter()
        for chunk, link in document.links:
            found = self.resolver.resolve(document.names.path, link)
            if found.status not in NO_NOTE_LINKS:
                counts[found.status] += 1
            # A link to another heading of the same note leads nowhere that a search would not come anyway.
            if found.path is not None and found.path != document.names.path:
                targets[chunk, "link", document_name(f"{self.root}/{found.path}", found.key)] = None
        if self.titles is not None:
            linked_notes = {name.partition("#")[0] for _, _, name in targets}
            for chunk, name in self._mentioned(document, texts):
                if name not in linked_notes:
                    targets[chunk, "mentions", name] = None
        return replace(document, targets=tuple(targets), link_counts=dict(counts))

    def _mentioned(self, document: Document, texts: Sequence[str]) -> Iterable[tuple[int, str]]:
        assert self.titles is not None, "asked for only where mentions count"
        for chunk, text in enumerate(texts):
            for path in self.titles.mentioned(text):
                if path != document.names.path:
                    yield chunk, document_name(f"{self.root}/{path}")
