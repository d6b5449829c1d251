"""Files and folders of a vault by their paths and by the ends of their paths."""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from .names import NOTE_SUFFIXES, folded

FOLDER_NOTES = ("index", "readme")
"""The notes that stand for their folder."""

_NOBODY: Set[str] = frozenset()


class Place(NamedTuple):
    """What a note can be called by where it is."""

    name: str
    """Folded, from the root."""
    rank: int
    """Of several with one name the lowest is meant."""
    path: str


class Places:
    def __init__(self) -> None:
        self._by_path: defaultdict[str, list[Place]] = defaultdict(list)
        self._by_last_part: defaultdict[str, list[Place]] = defaultdict(list)

    def add(self, place: Place) -> None:
        self._by_path[place.name].append(place)
        self._by_last_part[place.name.rpartition("/")[2]].append(place)

    def at(self, path: str | None) -> Set[str]:
        """The notes at a path from the root, in the same spelling if there are several."""
        found = _lowest(self._by_path.get(folded(path), ())) if path is not None else _NOBODY
        if len(found) < 2:
            return found
        return {each for each in found if path in {each, each.rpartition(".")[0]}} or found

    def called(self, target: str) -> Set[str]:
        """The notes at a path from the root, else those with the fewest folders above them whose path ends so."""
        found = self.at(joined("", target))
        if found:
            return found
        ending = folded(target)
        places = self._by_last_part.get(ending.rpartition("/")[2], [])
        if "/" in ending:
            places = [place for place in places if place.name.endswith("/" + ending)]
        paths = _lowest(places)
        fewest = min((path.count("/") for path in paths), default=0)
        return {path for path in paths if path.count("/") == fewest}


def file_places(path: str) -> Iterator[Place]:
    """A file by its whole name, and a note without its suffix."""
    name = folded(path)
    yield Place(name, 0, path)
    for rank, suffix in enumerate(NOTE_SUFFIXES, start=1):
        if name.endswith(suffix):
            yield Place(name.removesuffix(suffix), rank, path)


def folder_places(path: str) -> Iterator[Place]:
    """The folder that a note stands for."""
    folder, _, name = folded(path).rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if stem in FOLDER_NOTES and dot + suffix in NOTE_SUFFIXES:
        yield Place(folder, FOLDER_NOTES.index(stem), path)


def _lowest(places: Sequence[Place]) -> Set[str]:
    if not places:
        return _NOBODY
    lowest = min(place.rank for place in places)
    return {place.path for place in places if place.rank == lowest}


def joined(folder: str, target: str) -> str | None:
    """A path from the root, None if it leaves the root."""
    if "/" not in target and target not in {".", ".."}:
        return f"{folder}/{target}" if folder else target
    parts = folder.split("/") if folder else []
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)
