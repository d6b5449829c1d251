"""The part of a text that shows why it was found, with the matched words marked."""

import re
from bisect import bisect_left
from functools import lru_cache

from .tokens import query_terms, word_tokens

SNIPPET_CHARS = 160
MARK = "**"

_WORD = re.compile(r"\w+")


def snippet(content: str, query: str, length: int = SNIPPET_CHARS) -> str | None:
    """About `length` characters around the densest matches, each marked; None if no word of the query is there."""
    matches = matched_spans(content, query)
    if not matches:
        return None
    start = _densest_start(matches, length)
    end = min(len(content), start + length)
    parts: list[str] = ["…" if start > 0 else ""]
    position = start
    for low, high in matches:
        if start <= low and high <= end:
            parts += [content[position:low], MARK, content[low:high], MARK]
            position = high
    parts += [content[position:end], "…" if end < len(content) else ""]
    return " ".join("".join(parts).split())


def matched_spans(content: str, query: str) -> list[tuple[int, int]]:
    """Where words of the content match words of the query, by the same stems as the keyword signal."""
    wanted = _wanted_words(query)
    return [match.span() for match in _WORD.finditer(content) if not wanted.isdisjoint(_tokens_of(match.group()))]


@lru_cache(maxsize=16)  # asked for each hit of a page, of a few searches at once
def _wanted_words(query: str) -> frozenset[str]:
    terms = query_terms(query)
    of_names = (word for name in terms.names for word in word_tokens(name))
    return frozenset((*terms.words, *(word for phrase in terms.phrases for word in phrase), *of_names))


@lru_cache(maxsize=50_000)
def _tokens_of(word: str) -> tuple[str, ...]:
    return tuple(word_tokens(word))


def _densest_start(matches: list[tuple[int, int]], length: int) -> int:
    """Where the window with most matches starts, a little before the first of them."""
    lead = length // 8
    lows = [low for low, _ in matches]
    matches_from = [bisect_left(lows, low + length - lead) - number for number, low in enumerate(lows)]
    densest = max(range(len(lows)), key=matches_from.__getitem__)  # of equals the first
    return max(0, lows[densest] - lead)
