"""Text cut into words, for any script: case-folded, separators dropped, `c++` and `c#` kept whole."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

# Part of a name when they end it ("c++", "c#", "f#"), punctuation everywhere else.
_NAME_ENDINGS = "+#"
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:[+#]+(?![a-z0-9+#]))?")

# Scripts written without spaces between words: each character is matched on its own, so that a tag inside a
# sentence is found. Ranges: Thai to Lao, Myanmar, Khmer, CJK (with kana, ideographs, compatibility and extensions).
_UNSPACED_RANGES = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)

_KEPT_CHARACTERS = 8_192
"""More than a text of any language has; asked for every character."""


def fold(text: str) -> str:
    """Compatible forms united (full-width letters, ligatures) and case removed."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def split_words(text: str) -> list[str]:
    """The words of a text in order; letters, digits, marks and pictographs belong to words, the rest divides them."""
    if text.isascii():  # most texts; the regular expression is twenty times as fast and agrees (tested)
        return _ASCII_WORD.findall(text.lower())
    words: list[str] = []
    for piece in text.split():  # no word reaches across a space: where one letter is an umlaut, most pieces have none
        words += _ASCII_WORD.findall(piece.lower()) if piece.isascii() else split_any_script(piece)
    return words


def split_any_script(text: str) -> list[str]:
    folded = fold(text)
    words: list[str] = []
    position = 0
    for is_word, run in groupby(folded, key=_belongs_to_word):
        characters = "".join(run)
        position += len(characters)
        if is_word:
            words.append(characters + _name_ending(folded, position))
    return words


def matching_units(words: list[str]) -> list[str]:
    """The words with unspaced scripts cut into single characters, so that phrases can be matched by adjacency."""
    if all(map(str.isascii, words)):
        return words
    return [unit for word in words for unit in _units(word)]


@lru_cache(_KEPT_CHARACTERS)
def _belongs_to_word(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LNM" or category == "So"


def _name_ending(text: str, position: int) -> str:
    """The run of + or # right after a word, if no further word follows it directly (`a+b` are two words)."""
    end = position
    while end < len(text) and text[end] in _NAME_ENDINGS:
        end += 1
    followed_by_word = end < len(text) and _belongs_to_word(text[end])
    return "" if followed_by_word else text[position:end]


def _units(word: str) -> Iterator[str]:
    for unspaced, run in groupby(word, key=is_unspaced):
        if unspaced:
            yield from run
        else:
            yield "".join(run)


@lru_cache(_KEPT_CHARACTERS)
def is_unspaced(character: str) -> bool:
    code = ord(character)
    return any(low <= code <= high for low, high in _UNSPACED_RANGES)
