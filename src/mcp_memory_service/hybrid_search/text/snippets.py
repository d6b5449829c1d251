"""The part of a text that shows why it was found, with the matched words marked."""

import re
from functools import lru_cache
from itertools import chain

from .tokens import query_terms, stem, word_tokens

SNIPPET_CHARS = 160
MARK = "**"
MAX_CACHED_CHARS = 32
"""In scripts without spaces a word is a sentence: keeping the tokens of those would take hundreds of MB."""

_WORD = re.compile(r"\w+")
# Its one token is its stem, which begins as it does itself: most words are passed over without stemming.
_PLAIN = re.compile(r"[A-Za-z][a-z]*")


def snippet(content: str, query: str, length: int = SNIPPET_CHARS) -> str | None:
    """About `length` characters around the densest matches, each marked; None if no word of the query is there."""
    matches = matched_spans(content, query)
    if not matches:
        return None
    start = densest_start(matches, length)
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
    wanted, initials = wanted_tokens(query)
    spans: list[tuple[int, int]] = []
    for word in set(_WORD.findall(content)):
        if _PLAIN.fullmatch(word):
            if word[0] not in initials or stem(word.lower()) not in wanted:
                continue
        elif wanted.isdisjoint(_tokens_of(word) if len(word) <= MAX_CACHED_CHARS else word_tokens(word)):
            continue
        # Few words match, and looking for them is faster than cutting all.
        low = content.find(word)
        while low >= 0:
            high = low + len(word)
            if not (_WORD.match(content, high) or (low and _WORD.match(content, low - 1))):
                spans.append((low, high))
            low = content.find(word, high)
    spans.sort()
    return spans


@lru_cache(maxsize=64)  # the same for each memory of a page
def wanted_tokens(query: str) -> tuple[frozenset[str], frozenset[str]]:
    """The tokens that are looked for, and what plain words that have one begin with."""
    terms = query_terms(query)
    wanted = [*terms.words, *chain(*terms.phrases), *chain(*map(word_tokens, terms.names))]
    initials = "".join([word[0] for word in wanted])
    return frozenset(wanted), frozenset(initials + initials.upper())


@lru_cache(maxsize=10_000)
def _tokens_of(word: str) -> tuple[str, ...]:
    return tuple(word_tokens(word))


def densest_start(matches: list[tuple[int, int]], length: int) -> int:
    """Where the window with most matches starts, a little before the first of them; of equals the first."""
    lead = length // 8
    best = first = most = 0
    for last, (low, _) in enumerate(matches):
        while low >= matches[first][0] + length - lead:
            first += 1
        if last - first + 1 > most:
            best, most = first, last - first + 1
    return max(0, matches[best][0] - lead)
