"""A text as chunks: by its headings, and where a section is long, at the best places between its lines."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from .markdown import Heading, Markdown, Span
from .names import folded

TARGET_CHARS = 1_500
"""What is shown of a hit at once; a section that is no longer is one chunk."""
MIN_CHARS = 200
"""Less does not stand by itself: it joins what comes before or after it."""
BREAK_WINDOW_CHARS = 500
"""How far before the target a better place is looked for."""
MAX_WHOLE_CHARS = 8_000
"""Of a code block or table: a longer one is cut between lines, as text is."""
MAX_LINE_CHARS = 3_000
"""Of a line: a longer one is cut between sentences."""

# How good a break is before a line. Their order is what counts, the distance to the target can turn neighbours around.
_BLOCK_BORDER, _RULE, _PARAGRAPH, _LIST_ITEM, _SENTENCE, _LINE = 80.0, 60.0, 20.0, 5.0, 3.0, 1.0
_DISTANCE_COST = 0.7

_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*+")
_RULE_LINE = re.compile(r"[ ]{0,3}([-*_])[ \t]*+(?:\1[ \t]*+){2,}$")
_LIST_LINE = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_SENTENCE_END = re.compile(r"[.!?。！？][\"')\]*_]*\s*$")
_SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_SPACE = re.compile(r"\s+")
# Definitions of links and comments: what some editors write at the end of every note.
_NO_TEXT = re.compile(r"(?>\s*+(?:\[[^\]\n]++\]:[^\n]*+|<!--(?>(?!-->).)*+-->))++\s*+", re.DOTALL)


class Cut(NamedTuple):
    """A chunk by its offsets, and the title and headings above it."""

    path: tuple[str, ...]
    start: int
    end: int


class _Atom(NamedTuple):
    """What is not cut: a line, or a block that stays whole."""

    start: int
    end: int
    is_whole: bool = False
    is_alone: bool = False
    """A part of a line that is cut: no other line joins it."""


def cut_text(text: str, markdown: Markdown, title: str) -> list[Cut]:
    """Every line that is not blank is in exactly one chunk, in order; a line that is cut is in several.

    A section that fits with all below it is one chunk. Else its own text is one, or several if it is long, and the
    sections below it follow the same rule. A heading without a text of its own joins what comes after it, and what has
    no text at all, such as the definitions of links, what comes before.
    """
    sections = [Heading(0, 0, 0, "", ()), *markdown.headings]
    starts = [_line_start(text, section.start) for section in sections] + [len(text)]
    ends, paths = _subtree_ends(sections), _paths(sections, title)
    cuts: list[Cut] = []
    at, start = 0, 0
    while at < len(sections):
        subtree = _trimmed(text, start, starts[ends[at]])
        fits = subtree[1] - subtree[0] <= TARGET_CHARS
        following = ends[at] if fits else at + 1
        is_bare = following == at + 1 < len(sections) and not text[sections[at].end : starts[at + 1]].strip()
        if is_bare and starts[following] - start <= MIN_CHARS:
            at = following
            continue
        span = subtree if fits else _trimmed(text, start, starts[following])
        cuts += [Cut(paths[at], *piece) for piece in ([span] if fits else _pieces(text, span, markdown.whole))]
        at, start = following, starts[following]
    return _with_text(text, [cut for cut in cuts if cut.start < cut.end])


def _with_text(text: str, cuts: Sequence[Cut]) -> list[Cut]:
    """By words alone a chunk of nothing but names and paths would be found before the text that it belongs to."""
    joined: list[Cut] = []
    for cut in cuts:
        if joined and _NO_TEXT.fullmatch(text, cut.start, cut.end):
            joined[-1] = joined[-1]._replace(end=cut.end)
        elif len(joined) == 1 and _NO_TEXT.fullmatch(text, joined[0].start, joined[0].end):
            joined = [cut._replace(start=joined[0].start)]
        else:
            joined.append(cut)
    return joined


def _subtree_ends(sections: Sequence[Heading]) -> list[int]:
    """For each section, which one is the first that is not below it."""
    ends = [len(sections)] * len(sections)
    open_sections: list[int] = []
    for at, section in enumerate(sections):
        while open_sections and sections[open_sections[-1]].level >= section.level:
            ends[open_sections.pop()] = at
        open_sections.append(at)
    return ends


def _paths(sections: Sequence[Heading], title: str) -> list[tuple[str, ...]]:
    paths: list[tuple[str, ...]] = []
    above: list[Heading] = []
    for section in sections:
        while above and above[-1].level >= section.level:
            above.pop()
        above.append(section)
        names = [each.text for each in above if each.text and not _is_title(each, title)]
        paths.append((title, *names))
    return paths


def _is_title(heading: Heading, title: str) -> bool:
    return heading.level == 1 and folded(heading.text) == folded(title)


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _trimmed(text: str, start: int, end: int) -> Span:
    """Without blank lines before and after."""
    blank = _BLANK_LINES.match(text, start, end)
    start = blank.end() if blank else start
    last = start + len(text[start:end].rstrip())
    line_end = text.find("\n", last, end)
    return (start, end if line_end < 0 else line_end) if last > start else (start, start)


def _pieces(text: str, span: Span, whole: Sequence[Span]) -> Iterator[Span]:
    """A long section as chunks near the target."""
    for is_alone, atoms in groupby(_atoms(text, span, whole), key=lambda atom: atom.is_alone):
        if is_alone:
            yield from ((atom.start, atom.end) for atom in atoms)
        else:
            yield from _grouped(text, list(atoms))


def _grouped(text: str, atoms: Sequence[_Atom]) -> Iterator[Span]:
    ends = [atom.end for atom in atoms]
    first = 0
    while first < len(atoms):
        following = _following(text, atoms, ends, first)
        yield atoms[first].start, ends[following - 1]
        first = following


def _following(text: str, atoms: Sequence[_Atom], ends: Sequence[int], first: int) -> int:
    """The first atom after the chunk that begins with this one."""
    start = atoms[first].start
    target = start + TARGET_CHARS
    if ends[-1] <= target + MIN_CHARS:
        return len(atoms)
    fitting = bisect_right(ends, target, first)
    if fitting == first or ends[fitting - 1] - start < MIN_CHARS:
        return fitting + 1
    near = max(first, bisect_left(ends, target - BREAK_WINDOW_CHARS, first, fitting)) + 1

    def goodness(at: int) -> tuple[float, int]:
        distance = (target - ends[at - 1]) / BREAK_WINDOW_CHARS
        return _break_score(text, atoms[at - 1], atoms[at]) * (1 - _DISTANCE_COST * distance**2), at

    return max(range(near, fitting + 1), key=goodness, default=fitting)


def _break_score(text: str, before: _Atom, after: _Atom) -> float:
    if before.is_whole or after.is_whole:
        return _BLOCK_BORDER
    line = text[after.start : after.end]
    if _RULE_LINE.match(line):
        return _RULE
    if text.count("\n", before.end, after.start) > 1:
        return _PARAGRAPH
    if _LIST_LINE.match(line):
        return _LIST_ITEM
    return _SENTENCE if _SENTENCE_END.search(text[max(before.start, before.end - 20) : before.end]) else _LINE


def _atoms(text: str, span: Span, whole: Sequence[Span]) -> Iterator[_Atom]:
    at = span[0]
    for block in whole[bisect_left(whole, (span[0],)) : bisect_left(whole, (span[1],))]:
        start, end = _trimmed(text, _line_start(text, block[0]), min(block[1], span[1]))
        if at <= start and end - start <= MAX_WHOLE_CHARS:
            yield from _lines(text, at, start)
            yield _Atom(start, end, is_whole=True)
            at = end
    yield from _lines(text, at, span[1])


def _lines(text: str, start: int, end: int) -> Iterator[_Atom]:
    """The lines that are not blank, those that are too long in parts."""
    while start < end:
        found = text.find("\n", start, end)
        stop = found if found >= 0 else end
        if stop - start > MAX_LINE_CHARS:
            for low, high in pairwise([start, *_part_ends(text, start, stop), stop]):
                yield _Atom(low, high, is_alone=True)
        elif text[start:stop].strip():
            yield _Atom(start, stop)
        start = stop + 1


def _part_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Where a long line is cut: after a sentence, else after a word."""
    while end - start > TARGET_CHARS + MIN_CHARS:
        target = start + TARGET_CHARS
        window = (target - BREAK_WINDOW_CHARS, target)
        breaks = [found.end() for found in _SENTENCE_BREAK.finditer(text, *window)]
        breaks = breaks or [found.end() for found in _SPACE.finditer(text, *window)]
        start = breaks[-1] if breaks else target
        yield start
