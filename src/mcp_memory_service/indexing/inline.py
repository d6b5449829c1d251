"""Links, tags, block ids and comments in a piece of running text, in one pass from left to right.

The inline grammar of tree-sitter knows no wikilinks, and takes quadratic time for a row of tildes.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from .names import MAX_NAME_CHARS, folded, is_address
from .note import LinkForm


class LinkMark(NamedTuple):
    """A link to somewhere else than the web."""

    offset: int
    target: str
    anchor: str
    form: LinkForm


class TagMark(NamedTuple):
    offset: int
    tag: str


class KeyMark(NamedTuple):
    """Something that a link can name."""

    offset: int
    key: str


class CommentMark(NamedTuple):
    """`%%`, which begins or ends a comment."""

    offset: int
    part: int
    """Where the running text begins that it stands in."""
    starts_line: bool


Mark: TypeAlias = LinkMark | TagMark | KeyMark | CommentMark

MAX_LABEL_CHARS = 999
"""Of the label of a reference, as CommonMark has it."""

_SIGN = re.compile(r"[\\`<%$:\[\]#^]")
_TICKS = re.compile(r"`+")
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>\[\]]*+>")
_ADDRESS = re.compile(r"://[^\s\[\]<>]*")
# A formula ends before a digit only if it is two prices.
_FORMULA = re.compile(r"\$\$[^$]*+(?:\$(?!\$)[^$]*+)*+\$\$|\$(?![\s$])[^$\n]*+(?<![\s\\])\$(?!\d)")
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_DESTINATION = re.compile(
    r"\(\s*+(?:<([^<>\n]*+)>|(?!<)((?:[^\s()\\]++|\\.|\((?:[^\s()\\]++|\\.)*+\))*+))"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?+\s*+\)"
)
_LABEL = re.compile(r"\[((?:[^\[\]\\]++|\\.)*+)\]")
_DEFINITION = re.compile(r"\s*\[((?:[^\[\]\\]++|\\.)++)\]:\s*(?:<([^<>\n]*)>|(\S+))")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
# Letters, digits and pictures of any script with - _ / inside; no punctuation.
_TAG = re.compile(
    r"#([^\s\x00-,.:-@\[-^`{-\x9f\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\ud800-\udfff\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65]+)"
)
_BEFORE_TAG = frozenset("(,;*_~>|")
_NUMBER = re.compile(r"[\d/_\-]*")
# Of three letters some are words, but more often a colour; of four rather the contrary.
_COLOUR = re.compile(r"[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3}(?:[0-9a-fA-F]{2})?)?")
_BLOCK_ID = re.compile(r"\^([A-Za-z0-9\-]++)[ \t]*+$", re.MULTILINE)


class _Bracket(NamedTuple):
    """An open bracket, and how many marks were found before it."""

    at: int
    marks: int


@dataclass(slots=True)
class _Scan:
    text: str
    base: int
    definitions: Mapping[str, str]
    marks: list[Mark] = field(default_factory=list[Mark])
    brackets: list[_Bracket] = field(default_factory=list[_Bracket])
    ticks: dict[int, list[int]] | None = None
    comments_end: bool = True

    def run(self) -> list[Mark]:
        sign = _SIGN.search(self.text)
        while sign:
            at = sign.start()
            sign = _SIGN.search(self.text, _HANDLERS[sign[0]](self, at))
        return self.marks

    def escape(self, at: int) -> int:
        return at + 2

    def code(self, at: int) -> int:
        """A run of backticks is closed by the next one that is as long, else it is text."""
        if self.ticks is None:
            self.ticks = defaultdict(list)
            for run in _TICKS.finditer(self.text, at):
                self.ticks[len(run[0])].append(run.start())
        opening = _TICKS.match(self.text, at)
        assert opening
        length = len(opening[0])
        runs = self.ticks.get(length, [])  # an escaped backtick makes a run shorter than the one that was listed
        closing = bisect_left(runs, opening.end())
        return runs[closing] + length if closing < len(runs) else opening.end()

    def html(self, at: int) -> int:
        if not (self.comments_end and self.text.startswith("<!--", at)):
            tag = _HTML_TAG.match(self.text, at)
            return tag.end() if tag else at + 1
        end = self.text.find("-->", at + 4)
        self.comments_end = end >= 0
        return end + 3 if end >= 0 else at + 4

    def comment(self, at: int) -> int:
        if not self.text.startswith("%%", at):
            return at + 1
        starts_line = at == 0 or self.text[at - 1] == "\n"
        self.marks.append(CommentMark(self.base + at, self.base, starts_line))
        return at + 2

    def formula(self, at: int) -> int:
        found = _FORMULA.match(self.text, at)
        return found.end() if found else at + (2 if self.text.startswith("$$", at) else 1)

    def address(self, at: int) -> int:
        found = _ADDRESS.match(self.text, at)
        return found.end() if found else at + 1

    def opening(self, at: int) -> int:
        wikilink = _WIKILINK.match(self.text, at)
        if wikilink is None:
            self.brackets.append(_Bracket(at, len(self.marks)))
            return at + 1
        inside = wikilink[1].partition("|")[0].rstrip("\\")  # a table has \| for |
        target, _, anchor = inside.partition("#")
        self._add_link(at, target.strip(), anchor.strip(), "embed" if self._is_image(at) else "wikilink")
        return wikilink.end()

    def closing(self, at: int) -> int:
        """The end of a link, if what follows says where it leads, or its text is that of a definition."""
        if not self.brackets:
            return at + 1
        opened = self.brackets.pop()
        found = _DESTINATION.match(self.text, at + 1)
        if found:
            self._close_link(opened, found[1] if found[1] is not None else found[2])
            return found.end()
        return self._reference(opened, at) if self.definitions else at + 1

    def _reference(self, opened: _Bracket, at: int) -> int:
        label = _LABEL.match(self.text, at + 1)
        end = label.end() if label else at + 1
        named = label[1] if label and label[1] else self.text[opened.at + 1 : min(at, opened.at + 2 + MAX_LABEL_CHARS)]
        destination = self.definitions.get(label_key(named))
        if destination is None:
            return at + 1
        self._close_link(opened, destination)
        return end

    def _close_link(self, opened: _Bracket, destination: str) -> None:
        """A tag in the text of a link is none, and a link has no other around it."""
        if not self._is_image(opened.at):
            self.marks[opened.marks :] = [mark for mark in self.marks[opened.marks :] if not isinstance(mark, TagMark)]
            self.brackets.clear()
        destination = unescape(_ESCAPED.sub(r"\1", destination))
        if not is_address(destination, may_be_title=False):
            path, _, anchor = destination.partition("#")
            self._add_link(opened.at, unquote(path.partition("?")[0]), unquote(anchor), "markdown")

    def _add_link(self, at: int, target: str, anchor: str, form: LinkForm) -> None:
        if (target or anchor) and not is_address(target, may_be_title=True):
            self.marks.append(LinkMark(self.base + at, target.replace("\\", "/"), anchor, form))

    def _is_image(self, at: int) -> bool:
        return at > 0 and self.text[at - 1] == "!"

    def tag(self, at: int) -> int:
        found = _TAG.match(self.text, at)
        if found is None or not (at == 0 or self.text[at - 1].isspace() or self.text[at - 1] in _BEFORE_TAG):
            return at + 1
        tag = found[1].strip("/")
        if not (_NUMBER.fullmatch(tag) or _COLOUR.fullmatch(tag) or len(tag) > MAX_NAME_CHARS):
            self.marks.append(TagMark(self.base + at, tag))
        return found.end()

    def block_id(self, at: int) -> int:
        found = _BLOCK_ID.match(self.text, at)
        if found is None or not (at == 0 or self.text[at - 1].isspace()):
            return at + 1
        self.marks.append(KeyMark(self.base + at, "^" + folded(found[1])))
        return found.end()


_HANDLERS: dict[str, Callable[[_Scan, int], int]] = {
    "\\": _Scan.escape,
    "`": _Scan.code,
    "<": _Scan.html,
    "%": _Scan.comment,
    "$": _Scan.formula,
    ":": _Scan.address,
    "[": _Scan.opening,
    "]": _Scan.closing,
    "#": _Scan.tag,
    "^": _Scan.block_id,
}


def inline_marks(text: str, base: int, definitions: Mapping[str, str]) -> list[Mark]:
    """What stands in a piece of running text that begins at `base`, in order; definitions are by the key of their
    label."""
    return _Scan(text, base, definitions).run()


def label_key(label: str) -> str:
    """The form in which two labels of references are compared."""
    return " ".join(folded(label[: MAX_LABEL_CHARS + 1]).split())


def read_definition(text: str) -> tuple[str, str] | None:
    """The key and the destination of a reference definition; None if it is a footnote, which is running text."""
    found = _DEFINITION.match(text)
    if found is None or found[1].startswith("^"):
        return None
    return label_key(found[1]), found[2] if found[2] is not None else found[3]
