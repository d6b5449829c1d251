"""Files of every kind as notes: Markdown with its structure, plain text, and the pages of a document."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from .chunks import Cut, cut_text
from .front_matter import read_front_matter
from .inline import KeyMark, LinkMark, Mark, TagMark
from .markdown import Markdown, read_markdown
from .names import distinct, heading_key, one_line
from .note import Note, NoteChunk, RawLink


def read_note(text: str, stem: str) -> Note:
    """A Markdown file; `stem` is its name without the suffix, and its title if it names no other."""
    front = read_front_matter(text)
    body = text[front.end :]
    markdown = read_markdown(body)
    first_heading = next((heading.text for heading in markdown.headings if heading.level == 1), "")
    title = front.title or first_heading or one_line(stem)
    return Note(
        title=title,
        aliases=front.aliases,
        tags=front.tags,
        front_matter=front.values,
        dated=front.dated,
        chunks=_chunks(body, markdown, title, text.count("\n", 0, front.end)),
        problems=front.problems,
    )


def read_plain_text(text: str, stem: str) -> Note:
    title = one_line(stem)
    return Note(title, chunks=_chunks(text, Markdown(), title))


def read_pages(pages: Iterable[str], stem: str) -> Note:
    """The text of a document page by page; lines are counted through all of them, and `#page=3` leads to the third."""
    title = one_line(stem)
    chunks: list[NoteChunk] = []
    lines_before = 0
    for number, page in enumerate(pages, start=1):
        heading = f"Page {number}"
        chunks += [
            replace(chunk, heading_path=(title, heading), keys=(heading_key(heading),))
            for chunk in _chunks(page, Markdown(), title, lines_before)
        ]
        lines_before += page.count("\n") + 1
    return Note(title, chunks=tuple(chunks))


def _chunks(text: str, markdown: Markdown, title: str, lines_before: int = 0) -> tuple[NoteChunk, ...]:
    cuts = cut_text(text, markdown, title)
    lines = _Lines(text, lines_before)
    starts = [cut.start for cut in cuts]
    marks: list[list[Mark]] = [[] for _ in cuts]
    for mark in markdown.marks:
        marks[bisect_right(starts, mark.offset) - 1].append(mark)
    return tuple(_chunk(text, cut, inside, lines) for cut, inside in zip(cuts, marks, strict=True))


def _chunk(text: str, cut: Cut, marks: Sequence[Mark], lines: "_Lines") -> NoteChunk:
    return NoteChunk(
        heading_path=cut.path,
        text=text[cut.start : cut.end],
        first_line=lines.number(cut.start),
        last_line=lines.number(cut.end - 1),
        tags=distinct(mark.tag for mark in marks if isinstance(mark, TagMark)),
        links=tuple(
            RawLink(mark.target, mark.anchor, mark.form, lines.number(mark.offset))
            for mark in marks
            if isinstance(mark, LinkMark)
        ),
        keys=tuple(dict.fromkeys(mark.key for mark in marks if isinstance(mark, KeyMark))),
    )


class _Lines:
    """The number of the line that an offset is in, counted from 1 after those before the text."""

    def __init__(self, text: str, before: int) -> None:
        self._starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
        self._before = before

    def number(self, offset: int) -> int:
        return self._before + bisect_right(self._starts, offset)
