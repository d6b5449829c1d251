"""Where a link leads: to a note by its path, its name, an alias or its title, or nowhere without a guess."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import unquote

from .names import NOTE_SUFFIXES, folded, heading_key, is_address
from .note import Note, RawLink

LinkStatus: TypeAlias = Literal["resolved", "missing_anchor", "ambiguous", "broken", "file", "external"]


@dataclass(frozen=True, slots=True)
class NoteNames:
    """What links can call a note."""

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
_FOLDER_NOTES = ("index", "readme")


class LinkResolver:
    """Answers by the set of notes alone: in which order they come does not matter."""

    def __init__(self, notes: Iterable[NoteNames]) -> None:
        self._by_path: defaultdict[str, list[str]] = defaultdict(list)
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        self._by_alias: defaultdict[str, set[str]] = defaultdict(set)
        self._by_title: defaultdict[str, set[str]] = defaultdict(set)
        self._keys: dict[str, Sequence[str]] = {}
        self._anchors: dict[str, dict[str, str]] = {}
        self._found: dict[tuple[str, str], tuple[str, ...]] = {}
        for note in notes:
            path = folded(note.path)
            self._by_path[path].append(note.path)
            self._by_name[path.rpartition("/")[2]].append(note.path)
            for alias in note.aliases:
                self._by_alias[folded(alias.strip())].add(note.path)
            self._by_title[folded(note.title.strip())].add(note.path)
            self._keys[note.path] = note.keys

    def resolve(self, from_path: str, link: RawLink) -> Resolution:
        if not link.target:
            return self._at_anchor(from_path, link.anchor)
        if is_address(link.target, may_be_title=link.form != "markdown"):
            return Resolution("external")
        folder = from_path.rpartition("/")[0]
        if _joined("" if link.target.startswith("/") else folder, link.target) is None:
            return Resolution("external")
        found = self._candidates(folder, link.target)
        if len(found) == 1:
            return self._at_anchor(found[0], link.anchor)
        if found:
            return Resolution("ambiguous", candidates=found)
        return Resolution("broken" if _is_note_link(link) else "file")

    def _candidates(self, folder: str, target: str) -> tuple[str, ...]:
        """The notes that are meant; most links are written more than once."""
        asked = folder, target
        if asked not in self._found:
            found = next(filter(None, self._steps(folder, target)), set[str]())
            self._found[asked] = tuple(sorted(found))
        return self._found[asked]

    def _steps(self, folder: str, target: str) -> Iterator[set[str]]:
        """Who may be meant, by one rule after the other: the first that finds anybody counts."""
        target = target.rstrip("/")
        names = [target] if "%" not in target else [target, unquote(target)]
        for name in names:
            yield from self._by_place(folder, name)
        for name in map(folded, names):
            yield self._by_alias.get(name, set())
            yield self._by_title.get(name, set())
        for name in names:
            for note in _FOLDER_NOTES:
                yield from self._by_place(folder, f"{name}/{note}")

    def _by_place(self, folder: str, target: str) -> Iterator[set[str]]:
        """By the path from the note's folder, then from the root, then by the file name anywhere."""
        if not target.startswith("/"):
            yield self._at(_joined(folder, target))
        if not target.startswith(("./", "../")):
            yield self._at(_joined("", target))
        if not target.startswith(("/", "./", "../")):
            yield self._named(folded(target))

    def _at(self, path: str | None) -> set[str]:
        """At a path, in the same spelling if there are several."""
        for suffix in ("", *NOTE_SUFFIXES):
            found = self._by_path.get(folded(path) + suffix, []) if path else []
            if found:
                return {path + suffix} if path and path + suffix in found else set(found)
        return set()

    def _named(self, target: str) -> set[str]:
        """The one with the fewest folders above it whose path ends like this."""
        name = target.rpartition("/")[2]
        for suffix in ("", *NOTE_SUFFIXES):
            ending = f"/{target}{suffix}"
            found = [path for path in self._by_name.get(name + suffix, []) if f"/{folded(path)}".endswith(ending)]
            if found:
                fewest = min(path.count("/") for path in found)
                return {path for path in found if path.count("/") == fewest}
        return set()

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


def _joined(folder: str, target: str) -> str | None:
    """A path from the root, None if it leaves the root."""
    parts = folder.split("/") if folder else []
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def _is_note_link(link: RawLink) -> bool:
    """Whether it can only mean a note: a wikilink does unless it names a file, a Markdown link only by its suffix."""
    if link.form == "markdown":
        return folded(link.target).endswith(NOTE_SUFFIXES)
    return not _FILE_SUFFIX.search(link.target)
