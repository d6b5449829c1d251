"""What a query names of code: symbols as they are written, and places in files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_NAMED = 8
"""Of each kind; a pasted traceback or file names more than anybody asks for."""

_NAME = r"[^\W\d]\w*"
_SYMBOL = re.compile(rf"(?<![\w./\\$]){_NAME}(?:(?:\.|::|#){_NAME})*")
# A token is gone through once: it starts where none of its characters is before it.
_PLACE = re.compile(
    r"(?<![\w./\\@$\[\]-])[/\\]?(?:[\w.@$\[\]-]+[/\\])*[\w$@.-]+\.[A-Za-z]{1,4}(?::(\d{1,7}))?(?![\w./\\])"
)
_LEADING_WORD = re.compile(r"(?:class|def|func|function|fn|interface|method|module|symbol|type)\s+(?=\S+$)")
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")
_OWNERS = frozenset({"self", "cls", "this", "super"})


@dataclass(frozen=True, slots=True)
class NamedPlace:
    path: str
    """With slashes, as far as the query gives it."""
    line: int | None

    @property
    def stem(self) -> str:
        return self.path.rpartition("/")[2].partition(".")[0]

    @property
    def folder(self) -> str:
        """The last one above the file; empty if none is given."""
        return self.path.rpartition("/")[0].rpartition("/")[2]


def named_symbols(query: str) -> list[tuple[str, ...]]:
    """The parts of each name. A plain word is a name if it is the whole query, or written as one: with an underscore, a
    capital inside, a dot, brackets behind it."""
    text = _LEADING_WORD.sub("", query.strip().strip("`"), count=1)
    found: dict[tuple[str, ...], None] = {}
    for match in _SYMBOL.finditer(text):
        parts = tuple(part for part in re.split(r"\.|::|#", match.group()) if part not in _OWNERS)
        is_whole = match.group() == text.removesuffix("()")
        if parts and (is_whole or _looks_like_a_name(match.group(), text[match.end() :])):
            found[parts] = None
    return list(found)[:MAX_NAMED]


def named_places(query: str) -> list[NamedPlace]:
    """Files, with the line that is asked for if there is one."""
    places = (NamedPlace(match.group().partition(":")[0].replace("\\", "/"), _line(match)) for match in _places(query))
    return list(dict.fromkeys(places))[:MAX_NAMED]


def _places(query: str) -> Iterator[re.Match[str]]:
    return _PLACE.finditer(query)


def _line(match: re.Match[str]) -> int | None:
    return int(match.group(1)) if match.group(1) else None


def _looks_like_a_name(name: str, behind: str) -> bool:
    return (
        "_" in name.strip("_")
        or "." in name
        or ":" in name
        or "#" in name
        or behind[:1] == "("
        or (_INNER_CAPITAL.search(name) is not None)
    )
