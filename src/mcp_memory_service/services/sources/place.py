"""Where in which document a chunk stands, for people to look it up."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import cast

from ...models import Memory
from .names import KIND


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    """Relative to the folder that was indexed."""
    heading_path: tuple[str, ...]
    first_line: int
    last_line: int

    @property
    def link(self) -> str:
        """As a note would link to it."""
        inside = PurePosixPath(self.path)
        note = inside.with_suffix("").as_posix() if inside.suffix.casefold() in {".md", ".markdown"} else self.path
        return f"[[{note}#{self.heading_path[-1]}]]" if len(self.heading_path) > 1 else f"[[{note}]]"


def place_of(memory: Memory) -> Place | None:
    """None for what is no chunk of a document."""
    if memory.kind != KIND:
        return None
    metadata = memory.metadata
    path, headings, lines = metadata.get("path"), metadata.get("heading_path"), metadata.get("lines")
    if not (isinstance(path, str) and isinstance(headings, list) and isinstance(lines, list) and len(lines) == 2):
        return None
    first, last = cast("list[int]", lines)
    return Place(path, tuple(map(str, headings)), first, last)
