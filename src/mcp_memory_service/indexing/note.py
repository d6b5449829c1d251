"""What is read from a note: its names, and its chunks with their links."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..models import JsonValue

READER_VERSION = 2
"""Raised whenever the same file would be read as something else, so that every file is read once more."""

LinkForm: TypeAlias = Literal["wikilink", "embed", "markdown"]


@dataclass(frozen=True, slots=True)
class RawLink:
    """A link as it is written, before anybody knows where it leads."""

    target: str
    """Percent-decoded and without the anchor; empty if it leads to a place in the same note."""
    anchor: str
    """A heading, `^` and a block id, or nothing."""
    form: LinkForm
    line: int


@dataclass(frozen=True, slots=True)
class NoteChunk:
    """A part of a note: whole lines, unless a line is longer than a chunk may be."""

    heading_path: tuple[str, ...]
    """The title of the note first, then the headings above the chunk."""
    text: str
    first_line: int
    last_line: int
    """Both counted from 1 and part of the chunk."""
    tags: tuple[str, ...] = ()
    links: tuple[RawLink, ...] = ()
    keys: tuple[str, ...] = ()
    """What a link can name inside it: the keys of headings, and `^` with the id of a block."""


@dataclass(frozen=True, slots=True)
class Note:
    """A file that was read."""

    title: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Of the front matter; those in the text are in the chunks."""
    front_matter: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    dated: int | None = None
    """The date that the front matter gives, in microseconds UTC."""
    chunks: tuple[NoteChunk, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read, as sentences for people."""

    @property
    def links(self) -> tuple[RawLink, ...]:
        return tuple(link for chunk in self.chunks for link in chunk.links)
