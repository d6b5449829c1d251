"""Where a link leads: to a note by its path, its name, an alias or its title, or nowhere without a guess."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from .names import NOTE_SUFFIXES, folded, heading_key, is_address
from .note import Note, RawLink
from .places import Places, file_places, folder_places, joined

LinkStatus: TypeAlias = Literal["resolved", "missing_anchor", "ambiguous", "broken", "file", "external"]


class NoteNames(NamedTuple):
    """What links can call a note. An index run has those of all notes: a tuple is made in a fraction of the time."""

    path: str
    """Relative to the root, with forward slashes."""
    title: str
    aliases: Sequence[str] = ()
    keys: Sequence[str] = ()
    """Of its headings, and `^` with the ids of its blocks."""

    @classmethod
    def of(cls, path: str, note: Note) -> "NoteNames":
        keys = dict.fromkeys(key for chunk in note.chunks for key in chunk.keys)
        return cls(path, note.title, note.aliases, tuple(keys))


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a link leads."""

    status: LinkStatus
    """`missing_anchor` leads to the note as a whole; `file` is no note, `external` not below the root."""
    path: str | None = None
    key: str | None = None
    """The heading or block in the note, if the link names one that is there."""
    candidates: tuple[str, ...] = ()
    """The notes that an ambiguous link may mean, in order."""


_REPEATED = re.compile(r"-\d+$")
# What an app for notes shows or opens beside notes.
_FILE_SUFFIX = re.compile(
    r"\.(?:avif|bmp|gif|heic|ico|jpe?g|png|svg|tiff?|webp|3gp|flac|m4a|mp3|ogg|opus|wav|avi|mkv|mov|mp4|ogv|webm"
    r"|base|bib|c|canvas|cpp|cs|css|csv|docx?|drawio|epub|excalidraw|gz|go|html?|ipynb|java|js|json|jsx|log|odp|ods|odt"
    r"|pdf|pptx?|ps1|py|r|rb|rs|rtf|sh|sql|tar|tex|toml|ts|tsv|tsx|txt|xlsx?|xml|ya?ml|zip)$",
    re.IGNORECASE,
)


class LinkResolver:
    """Answers by the set of notes alone: in which order they come does not matter."""

    def __init__(self, notes: Iterable[NoteNames]) -> None:
        self._files, self._folders = Places(), Places()
        self._by_alias: defaultdict[str, set[str]] = defaultdict(set)
        self._by_title: defaultdict[str, set[str]] = defaultdict(set)
        self._keys: dict[str, Sequence[str]] = {}
        self._anchors: dict[str, dict[str, str]] = {}
        self._anywhere: dict[str, Set[str]] = {}
        for note in notes:
            for place in file_places(note.path):
                self._files.add(place)
            for place in folder_places(note.path):
                self._folders.add(place)
            for alias in note.aliases:
                self._by_alias[folded(alias.strip())].add(note.path)
            self._by_title[folded(note.title.strip())].add(note.path)
            self._keys[note.path] = note.keys

    def resolve(self, from_path: str, link: RawLink) -> Resolution:
        if not link.target:
            return self._at_anchor(from_path, link.anchor)
        if is_address(link.target, may_be_title=link.form != "markdown"):
            return Resolution("external")
        folder = "" if link.target.startswith("/") else from_path.rpartition("/")[0]
        near = joined(folder, link.target)
        if near is None:
            return Resolution("external")
        found = self._meant(near, link.target)
        if not found and "%" in link.target:
            found = self._meant(unquote(near), unquote(link.target))
        if len(found) == 1:
            return self._at_anchor(next(iter(found)), link.anchor)
        if found:
            return Resolution("ambiguous", candidates=tuple(sorted(found)))
        return Resolution("broken" if _is_note_link(link) else "file")

    def _meant(self, near: str, target: str) -> Set[str]:
        """The notes that a link may mean: at its path from the folder of the note, else by what it is called anywhere,
        else the note that stands for a folder. A path that says where it begins stands for that place alone."""
        found = self._files.at(near)
        if found:
            return found
        if target.startswith(("/", "./", "../")):
            return self._folders.at(near)
        anywhere = self._anywhere.get(target)
        if anywhere is None:  # most links are written more than once
            anywhere = self._anywhere[target] = self._called(target.rstrip("/"))
        return anywhere or self._folders.at(near) or self._folders.called(target.rstrip("/"))

    def _called(self, target: str) -> Set[str]:
        name = folded(target)
        return self._files.called(target) or self._by_alias.get(name) or self._by_title.get(name, frozenset())

    def _at_anchor(self, path: str, anchor: str) -> Resolution:
        if not anchor:
            return Resolution("resolved", path)
        anchors = self._anchors.get(path)
        if anchors is None:
            keys = self._keys.get(path, ())
            anchors = self._anchors[path] = {key.replace("-", ""): key for key in keys if not key.startswith("^")}
            anchors |= {key: key for key in keys}
        found = next((anchors[key] for key in _anchor_keys(anchor) if key in anchors), None)
        return Resolution("resolved" if found else "missing_anchor", path, found)


def _anchor_keys(anchor: str) -> Iterator[str]:
    """The keys that an anchor may stand for: Obsidian names headings by their text, and those above them first;
    others leave out all punctuation and count repeated headings."""
    for name in (anchor.strip(), anchor.rpartition("#")[2].strip()):
        if name.startswith("^"):
            yield folded(name)
            continue
        key = heading_key(name)
        for form in (key, _REPEATED.sub("", key)):
            yield form
            yield form.replace("-", "")


def _is_note_link(link: RawLink) -> bool:
    """Whether it can only mean a note: a wikilink does unless it names a file, a Markdown link only by its suffix."""
    if link.form == "markdown":
        return folded(link.target).endswith(NOTE_SUFFIXES)
    return not _FILE_SUFFIX.search(link.target)
