"""Whether a text speaks of a symbol: by its name as code is written, or by a line of its file."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from ...hybrid_search.text.tokens import name_tokens, word_tokens
from ...models import QueryTerms

MentionForm: TypeAlias = Literal["name", "qualified", "place"]
"""name: its last part. qualified: with its class or module in front. place: `path:line` within its span."""
OWN_RECEIVERS = frozenset({"self", "cls", "this", "super"})
"""What stands for the class in its own code: they name no other symbol."""

_IDENTIFIER = r"[^\W\d][\w$]*"
_CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)")
# A run of such characters is looked at once: it may be as long as a text.
_PLACE = re.compile(
    r"(?<![\w.@~+\-/\\])(?P<path>[\w.@~+\-/\\]+\.\w{1,5})(?::(?P<first>[0-9]{1,7})(?:-(?P<last>[0-9]{1,7}))?)?(?!\w)"
    r'|File "(?P<frame>[^"\n]+)", line (?P<line>[0-9]{1,7})'
)
_EXPRESSION = re.compile(r"[\w$.]+(?:\(.*\))?")


@dataclass(frozen=True, slots=True)
class MentionedSymbol:
    """What is looked for in a text."""

    qualified_name: str
    path: str
    """Relative to its project, or absolute."""
    first_line: int
    last_line: int
    is_file: bool = False
    """A module: a text that names its file speaks of it."""
    rivals: frozenset[str] = frozenset()
    """What other symbols of the same last part stand in: `Cache` is one of `Store.get_user`, if there is a
    `Cache.get_user`."""

    @property
    def name(self) -> str:
        return self.qualified_name.rpartition(".")[2]

    @property
    def containers(self) -> list[str]:
        """The parts before the last one."""
        return self.qualified_name.split(".")[:-1]


@dataclass(frozen=True, slots=True)
class Mention:
    form: MentionForm
    start: int
    """In characters of the text."""


def mention_of(text: str, symbol: MentionedSymbol) -> Mention | None:
    """The first and surest; None if the text does not speak of it."""
    found = sorted(_mentions(text, symbol), key=lambda each: (_SURENESS.index(each.form), each.start))
    return found[0] if found else None


_SURENESS: Sequence[MentionForm] = ("qualified", "place", "name")


def mention_terms(symbols: Collection[MentionedSymbol]) -> QueryTerms:
    """What finds every text that may speak of one of them."""
    words: dict[str, None] = {}
    names: dict[str, None] = {}
    for symbol in symbols:
        plain = symbol.name.rstrip("_")  # those at the end of a longer name are not indexed
        names |= dict.fromkeys(name_tokens(f"{symbol.name} {plain} {symbol.path.rpartition('/')[2]}"))
        if not name_tokens(plain):
            words |= dict.fromkeys(word_tokens(plain))
            names |= dict.fromkeys(name_tokens(".".join([*symbol.containers[-1:], symbol.name]))[:1])
    return QueryTerms(tuple(words), tuple(names))


def is_compound(name: str) -> bool:
    """Whether a name says by itself that it is one: `authenticate_user`, `parseHeader`; not `run` or `Store`."""
    return name.strip("_") != "" and bool(name_tokens(name))


def _mentions(text: str, symbol: MentionedSymbol) -> Iterator[Mention]:
    if symbol.name in text:
        plainly, code = is_compound(symbol.name), _code_ranges(text)
        for found in _named(symbol.name).finditer(text):
            form = _form_of(found, text, symbol, plainly=plainly, code=code)
            if form:
                yield Mention(form, found.start())
    for found in _PLACE.finditer(text):
        if _is_within(found, symbol):
            yield Mention("place", found.start())


def _is_within(found: re.Match[str], symbol: MentionedSymbol) -> bool:
    line = found["first"] or found["line"]
    if line is None:
        return symbol.is_file and same_file(found["path"], symbol.path)
    first, last = int(line), int(found["last"] or line)
    is_there = first <= symbol.last_line and last >= symbol.first_line
    return is_there and same_file(found["path"] or found["frame"], symbol.path)


def _form_of(
    found: re.Match[str], text: str, symbol: MentionedSymbol, *, plainly: bool, code: Sequence[tuple[int, int, str]]
) -> MentionForm | None:
    qualifier = (found["qualifier"] or "").split(".")[:-1]
    last = qualifier[-1] if qualifier else ""
    if last and last in symbol.containers:
        return "qualified"
    if last in symbol.rivals:
        return None
    if plainly:
        return "name"
    if last and last not in OWN_RECEIVERS:  # of a common word any receiver may have one
        return None
    return "name" if _is_code(found.start("name"), found.end(), text, code) else None


def _is_code(start: int, end: int, text: str, code: Sequence[tuple[int, int, str]]) -> bool:
    """A common word is a name where it is called, or is all of a piece of code; one with a capital also where such a
    piece goes on to a member of it."""
    if _CALLED.match(text, end):
        return True
    name, inside = text[start:end], next((inside for first, last, inside in code if first <= start < last), "")
    return inside == name or (name[:1].isupper() and _EXPRESSION.fullmatch(inside) is not None)


_CALLED = re.compile(r"\((?!e?s\))")
"""Not the plural of `run(s)`."""


def _code_ranges(text: str) -> list[tuple[int, int, str]]:
    """Pieces of code within a line."""
    if "`" not in text:
        return []
    blocks = [each.span() for each in _CODE_BLOCK.finditer(text)]
    spans = [(each.start(2), each.end(2), each[2].strip()) for each in _CODE_SPAN.finditer(text)]
    return [span for span in spans if not any(first <= span[0] < last for first, last in blocks)]


@lru_cache(maxsize=512)
def _named(name: str) -> re.Pattern[str]:
    """With what stands before its dots; not as a part of a longer name."""
    return re.compile(rf"(?<![\w$])(?<![\w$]\.)(?P<qualifier>(?:{_IDENTIFIER}\.)*)(?P<name>{re.escape(name)})(?![\w$])")


def same_file(written: str, path: str) -> bool:
    """Whether a path as somebody wrote it, whole or only its end, may be that of a file."""
    ours, theirs = path.replace("\\", "/").strip("/"), written.replace("\\", "/").removeprefix("./").strip("/")
    return ours == theirs or ours.endswith(f"/{theirs}") or theirs.endswith(f"/{ours}")
