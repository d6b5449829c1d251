"""The part of a text that shows why it was found, with the matched words marked."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

from .tokens import query_terms, word_tokens

SNIPPET_CHARS = 160
MARK = "**"

_WORD = re.compile(r"\w+")
# Its one token begins as it does itself, whatever is cut from its end: most words are passed over without stemming.
_PLAIN = re.compile(r"[A-Za-z][a-z]*")


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
    wanted = _wanted(query)
    initials = _initials(query)
    words = (word for word in set(_WORD.findall(content)) if word[0].lower() in initials or not _PLAIN.fullmatch(word))
    matching = [word for word in words if not wanted.isdisjoint(_tokens_of(word))]
    return sorted(span for word in matching for span in _spans_of(word, content))


@lru_cache(maxsize=64)
def _initials(query: str) -> frozenset[str]:
    return frozenset(word[0] for word in _wanted(query))


@lru_cache(maxsize=64)  # the same for each memory of a page
def _wanted(query: str) -> frozenset[str]:
    terms = query_terms(query)
    in_phrases = (word for phrase in terms.phrases for word in phrase)
    in_names = (word for name in terms.names for word in word_tokens(name))
    return frozenset([*terms.words, *in_phrases, *in_names])


def _spans_of(word: str, content: str) -> Iterator[tuple[int, int]]:
    """Where it stands as a word of its own; few words match, and looking for them is faster than cutting all."""
    low = content.find(word)
    while low >= 0:
        high = low + len(word)
        if not _WORD.match(content[high : high + 1]) and not _WORD.match(content[low - 1 : low]):
            yield low, high
        low = content.find(word, high)


@lru_cache(maxsize=10_000)
def _tokens_of(word: str) -> tuple[str, ...]:
    return tuple(word_tokens(word))


def _densest_start(matches: list[tuple[int, int]], length: int) -> int:
    """Where the window with most matches starts, a little before the first of them; of equals the first."""
    lead = length // 8
    starts = [low for low, _ in matches]
    within = [bisect_left(starts, low + length - lead) - place for place, low in enumerate(starts)]
    return max(0, starts[within.index(max(within))] - lead)
