"""Markdown as blocks: headings, what must stay whole, and what stands in the running text."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple, TypeAlias

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from .inline import CommentMark, KeyMark, Mark, inline_marks, read_definition
from .names import heading_key, one_line

Span: TypeAlias = tuple[int, int]
"""Where a part of a text starts and ends."""

_grammar: object = import_module("tree_sitter_markdown").language()  # by name: it has no types
_LANGUAGE = Language(_grammar)
_BLOCKS = Query(
    _LANGUAGE,
    """
    [(block_quote) (list)] @nested
    (atx_heading) @heading
    (setext_heading) @underlined
    [(fenced_code_block) (indented_code_block) (pipe_table)] @whole
    [(inline) (pipe_table_cell)] @text
    (link_reference_definition) @definition
    """,
)
# Before a text that begins with a rule, which would be read as front matter.
_PAD = "\n"
MAX_HEADING_CHARS = 1_000
"""Of the source of a heading: what comes after is not looked at."""

_HEADING_ID = re.compile(r"\{#([^{}\s]++)\}$")
_HEADING_BLOCK = re.compile(r"(?<!\S)\^[A-Za-z0-9\-]++$")
_HEADING_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]")
_HEADING_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"[*`]+")


class Heading(NamedTuple):
    start: int
    end: int
    level: int
    text: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Markdown:
    """What is known of a text, by offsets in it, in order."""

    headings: tuple[Heading, ...] = ()
    """Those that give the text its structure: none in a quote or a list."""
    whole: tuple[Span, ...] = ()
    """Code blocks and tables."""
    marks: tuple[Mark, ...] = ()


def read_markdown(text: str) -> Markdown:
    blocks = _blocks(text)
    definitions: dict[str, str] = {}
    running = blocks.get("text", [])
    for start, end in blocks.get("definition", []):
        definition = read_definition(text[start:end])
        if definition:
            definitions.setdefault(*definition)
        else:
            running.append((start, end))
    found = [mark for start, end in sorted(running) for mark in inline_marks(text[start:end], start, definitions)]
    headings = _headings(text, blocks)
    found += [KeyMark(heading.start, key) for heading in headings for key in heading.keys]
    marks, hidden = _without_comments(sorted(found, key=lambda mark: mark.offset))
    shown = tuple(heading for heading in headings if not _is_within(heading.start, hidden))
    return Markdown(shown, tuple(blocks.get("whole", [])), tuple(marks))


def _blocks(text: str) -> dict[str, list[Span]]:
    """Where each kind of block stands, in order.

    Each character is parsed as one byte, so that offsets of the tree are offsets of the text; the structure of blocks
    is in ASCII. Positions are never asked for as points: those of tree-sitter 0.26.0 are freed too often, and end
    the process.
    """
    source = (_PAD + text + "\n").encode("ascii", "replace")  # the grammar wants every line to end
    if not text.isascii():
        source = source.replace(b"<?", b"<x")  # else it begins a block of HTML that nobody wrote
    captures = QueryCursor(_BLOCKS).captures(Parser(_LANGUAGE).parse(source).root_node)
    return {kind: sorted(map(_span, nodes)) for kind, nodes in captures.items()}


def _span(node: Node) -> Span:
    return node.start_byte - len(_PAD), node.end_byte - len(_PAD)


def _outermost(spans: Iterable[Span]) -> list[Span]:
    outer: list[Span] = []
    for span in spans:
        if not outer or span[0] >= outer[-1][1]:
            outer.append(span)
    return outer


def _is_within(offset: int, spans: Sequence[Span]) -> bool:
    """Whether one of the spans has it, which are in order and do not overlap."""
    after = bisect_right(spans, (offset, float("inf")))
    return after > 0 and offset < spans[after - 1][1]


def _headings(text: str, blocks: Mapping[str, Sequence[Span]]) -> list[Heading]:
    found: list[Heading] = []
    for start, end in blocks.get("heading", []):
        line = text[start : min(end, start + MAX_HEADING_CHARS)].partition("\n")[0].strip()
        content = line.lstrip("#")
        found.append(_heading((start, end), len(line) - len(content), _without_closing(content.strip())))
    for start, end in blocks.get("underlined", []):
        lines = text[start:end].strip().split("\n")
        content = " ".join(lines[:-1])[:MAX_HEADING_CHARS]
        found.append(_heading((start, end), 1 if lines[-1].lstrip().startswith("=") else 2, content.strip()))
    nested = _outermost(blocks.get("nested", []))
    return sorted(heading for heading in found if not _is_within(heading.start, nested))


def _without_closing(content: str) -> str:
    """Signs at the end of a heading close it, after a space."""
    rest = content.rstrip("#")
    return rest.rstrip() if not rest or rest[-1].isspace() else content


def _heading(span: Span, level: int, content: str) -> Heading:
    own_id = _HEADING_ID.search(content)
    shown = _shown(content[: own_id.start()] if own_id else content)
    keys = [heading_key(shown), *([heading_key(own_id[1])] if own_id else [])]
    return Heading(*span, level, shown, tuple(key for key in keys if key))


def _shown(source: str) -> str:
    """A heading as a reader sees it."""
    source = _HEADING_WIKILINK.sub(r"\1", _HEADING_BLOCK.sub("", source.strip()))
    return one_line(_EMPHASIS.sub("", _HEADING_LINK.sub(r"\1", source)))


def _without_comments(marks: Iterable[Mark]) -> tuple[list[Mark], list[Span]]:
    """The marks outside comments, and where comments are. A comment that begins a line may go on for several blocks;
    another one ends in its own, or is none."""
    kept: list[Mark] = []
    doubtful: list[Mark] = []
    hidden: list[Span] = []
    opened: CommentMark | None = None
    for mark in marks:
        if not isinstance(mark, CommentMark):
            (kept if opened is None else doubtful).append(mark)
        elif opened and (opened.starts_line or opened.part == mark.part):
            hidden.append((opened.offset, mark.offset))
            opened, doubtful = None, []
        else:
            kept += doubtful
            opened, doubtful = mark, []
    return kept + doubtful, hidden
