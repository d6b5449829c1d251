"""Notes that a text mentions by their title or an alias without a link to them."""

import re
from collections import defaultdict
from collections.abc import Iterable

from .names import folded

MIN_LETTERS = 4
"""Of a name: shorter ones are words that mean something else."""
# Names that many vaults have, and that mean the note only where they are a link.
COMMON_NAMES = frozenset(
    "about archive changelog contributing daily diary draft drafts glossary home ideas inbox index introduction journal"
    " license links list misc note notes other overview people project projects readme reading references resources"
    " tags task tasks template templates test todo topics untitled week work".split()
)

# What is no prose: code, links, addresses; and where a paragraph ends, a name does.
_NO_PROSE = re.compile(
    r"^(```++|~~~++).*?^\1|(?<!`)(`{1,4}+)(?!`)[^`\n]*+\2(?!`)|!?\[\[[^\[\]\n]*+\]\]|!?\[[^\[\]\n]*+\]\([^()\n]*+\)"
    r"|(?<!\w)\w++://\S*+|\n[^\S\n]*+\n",
    re.MULTILINE | re.DOTALL,
)
_BORDER = "\x00"
# Scripts without spaces have no words to look up, so each character is one.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"{_BORDER}|[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")


class TitleIndex:
    """The names of notes by their words."""

    def __init__(self, titles: Iterable[tuple[str, Iterable[str]]]) -> None:
        """The path of each note with its title and aliases."""
        paths: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for path, names in titles:
            for name in names:
                words = tuple(_WORD.findall(folded(name)))
                if _is_telling(words):
                    paths[words].add(path)
        # A name of several notes means none of them, and the names within it mean nothing there either.
        self._paths = {words: next(iter(found)) if len(found) == 1 else None for words, found in paths.items()}
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for words in paths:
            lengths[words[0]].add(len(words))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def mentioned(self, text: str) -> list[str]:
        """The paths of the notes that the text names by whole words, each once, in the order of their mention; of
        names that overlap the first counts, and of those that begin together the longest."""
        words = _WORD.findall(_NO_PROSE.sub(_BORDER, folded(text)))
        found: dict[str | None, None] = {}
        at = 0
        while at < len(words):
            length = self._length_at(words, at)
            if length:
                found[self._paths[tuple(words[at : at + length])]] = None
            at += length or 1
        return [path for path in found if path is not None]

    def _length_at(self, words: list[str], at: int) -> int:
        lengths = self._lengths.get(words[at], [])
        return next((length for length in lengths if tuple(words[at : at + length]) in self._paths), 0)


def _is_telling(words: tuple[str, ...]) -> bool:
    """Whether a name is more than a short or common word or a number."""
    if not words or all(map(str.isdigit, words)) or _BORDER in words:
        return False
    letters = sum(2 if _IS_UNSPACED.match(word) else len(word) for word in words)
    return letters >= MIN_LETTERS and not (len(words) == 1 and words[0] in COMMON_NAMES)
