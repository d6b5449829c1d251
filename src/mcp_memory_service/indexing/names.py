"""How titles, headings, file names and links are compared with each other."""

import re
import unicodedata
from collections.abc import Iterable

MAX_NAME_CHARS = 200
"""Of a title, heading or tag: what is longer is no name, and each chunk below a heading carries it."""
NOTE_SUFFIXES = (".md", ".mdx", ".markdown")
"""A link may leave them out; of two notes that differ by them alone, the first kind is meant."""

# A space, a line break or a control character, none of which a name has inside.
_GAP = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_NO_WORD = re.compile(r"\W+")

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:|//")
_WHOLE_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://|mailto:")


def folded(text: str) -> str:
    """The form in which two names are compared: case-folded NFC, so that names from any file system meet."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def one_line(text: str) -> str:
    """A name as it is shown: on one line, not endless."""
    return _GAP.sub(" ", text).strip()[:MAX_NAME_CHARS].rstrip()


def heading_key(heading: str) -> str:
    """What a link to a heading is compared by: its words, with one hyphen between them."""
    return _NO_WORD.sub("-", folded(heading)).strip("-")


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, as it was written first."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(folded(name), name)
    return tuple(first.values())


def is_address(target: str, *, may_be_title: bool) -> bool:
    """Whether a link leads to the web or another program; a title may have a colon."""
    return (_WHOLE_ADDRESS if may_be_title else _ADDRESS).match(target) is not None
