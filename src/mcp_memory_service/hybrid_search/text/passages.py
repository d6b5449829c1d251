"""The parts of a long text that a query is about: its best chunks, with borders as a reader would set them."""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from .. import bm25
from ..columns.candidates import Scores
from ..signals import above_baseline
from .snippets import MAX_CACHED_CHARS, densest_start, matched_spans, wanted_tokens
from .tokens import word_tokens

Span: TypeAlias = tuple[int, int]
"""Where a part of a text starts and ends."""

# Two chunks of English prose; a text that is no longer is shown whole.
MAX_PASSAGE_CHARS = 1_500
# A chunk of Chinese has 220 characters, and the last chunk of a text may have two words: too little to understand.
MIN_PASSAGE_CHARS = MAX_PASSAGE_CHARS // 2
# Less of a second chunk would be hard to read.
MIN_SECOND_CHARS = 200
# Left free, so that two paragraphs that follow each other can be shown as one passage.
PARAGRAPH_BREAK_CHARS = 2
# How good the second chunk must be, as a share of the best: with less, more is shown and next to nothing more found
# (python -m bench.passages).
SECOND_SHARE = 0.7
# How far away the border of a sentence or line is looked for: most sentences are shorter.
MAX_BORDER_CHARS = 120
# Where there is no room to go on to a border, a word is left out rather than cut; of longer ones a part is shown.
MAX_WORD_CHARS = 24

_SENTENCE_START = re.compile(r"\n|[.!?][\"')\]]*\s|[。！？]")
_SENTENCE_END = re.compile(r"(?=\n)|[.!?][\"')\]]*(?=\s)|[。！？]")
_SPACE = re.compile(r"\s")


class _Match(NamedTuple):
    """A word of the query in the text."""

    start: int
    end: int
    token: str


def best_passages(content: str, query: str, chunks: Sequence[Span], similarities: Sequence[float] = ()) -> list[Span]:
    """The best chunk, and a second one that is nearly as good, in the order of the text and at most MAX_PASSAGE_CHARS
    together.

    A chunk is as good as the words of the query that it has, those counting more that few chunks have, and its
    similarity to the query, to equal parts. Without a similarity for each of them, words count alone. Of equals the
    first is the best.
    """
    matches = _matches(content, query)
    idf = _inverse_document_frequencies(chunks, matches)
    best_by_words = max(_summed(chunks, matches, idf)) or 1.0
    meaning = above_baseline(similarities) if len(similarities) == len(chunks) else np.zeros(len(chunks))

    def scores(counted: Sequence[_Match]) -> Scores:
        return np.array(_summed(chunks, counted, idf)) / best_by_words + meaning

    found = scores(matches)
    best = int(found.argmax())
    first = _window(content, _stripped(content, chunks[best]), MAX_PASSAGE_CHARS, (0, len(content)), matches)
    room = MAX_PASSAGE_CHARS - (first[1] - first[0]) - PARAGRAPH_BREAK_CHARS
    unseen = [match for match in matches if not first[0] <= match.start < first[1]]
    rests = [_stripped(content, _outside(chunk, first)) for chunk in chunks]
    # Of a neighbour that is seen for the most part, the similarity is no reason to show the rest.
    is_new = [2 * (rest[1] - rest[0]) > chunk[1] - chunk[0] for rest, chunk in zip(rests, chunks, strict=True)]
    others = scores(unseen) * is_new
    second = int(others.argmax())
    if room < MIN_SECOND_CHARS or others[second] <= SECOND_SHARE * found[best]:
        return [first]
    part = rests[second]
    within = (first[1], len(content)) if part[0] >= first[1] else (0, first[0])
    return _joined(content, sorted([first, _window(content, part, room, within, unseen)]))


def _matches(content: str, query: str) -> list[_Match]:
    wanted, _ = wanted_tokens(query)
    found: list[_Match] = []
    for low, high in matched_spans(content, query):
        word = content[low:high]
        if word.isascii() or len(word) <= MAX_CACHED_CHARS:
            found += [_Match(low, high, token) for token in set(word_tokens(word)) & wanted]
            continue
        for token in wanted:  # a whole sentence of a script without spaces
            found += [
                _Match(low + at.start(), low + at.end(), token) for at in re.finditer(re.escape(token), word.lower())
            ]
    return sorted(found)


def _inverse_document_frequencies(chunks: Sequence[Span], matches: Sequence[_Match]) -> dict[str, float]:
    having = Counter(token for tokens in _tokens(chunks, matches) for token in tokens)
    return {token: bm25.idf(len(chunks), number) for token, number in having.items()}


def _summed(chunks: Sequence[Span], matches: Sequence[_Match], idf: Mapping[str, float]) -> list[float]:
    """Of each chunk, the idf of its words."""
    return [math.fsum(idf[token] for token in tokens) for tokens in _tokens(chunks, matches)]


def _tokens(chunks: Sequence[Span], matches: Sequence[_Match]) -> list[set[str]]:
    """Of each chunk, those of the query that it has."""
    starts = [match.start for match in matches]
    return [
        {match.token for match in matches[bisect_left(starts, low) : bisect_left(starts, high)]} for low, high in chunks
    ]


def _outside(chunk: Span, seen: Span) -> Span:
    """What of a chunk is not seen yet: what comes after it, else what comes before."""
    if chunk[1] > seen[1]:
        return max(chunk[0], seen[1]), chunk[1]
    return chunk[0], max(chunk[0], min(chunk[1], seen[0]))


def _stripped(content: str, part: Span) -> Span:
    """Without the space around it."""
    text = content[slice(*part)]
    return part[1] - len(text.lstrip()), part[0] + len(text.rstrip())


def _window(content: str, part: Span, room: int, within: Span, matches: Sequence[_Match]) -> Span:
    """The part with some of what is around it, or the best of it if there is no room for all."""
    low, high = part
    if high - low > room:
        inside = [(match.start - low, match.end - low) for match in matches if low <= match.start < high]
        if inside:
            low = min(low + densest_start(inside, room), high - room)
        elif within[1] < len(content):  # it may touch what comes after it
            low = high - room
        high = low + room
    missing = min(room, MIN_PASSAGE_CHARS) - (high - low)
    if missing > 0:
        low, high = low - missing // 2, high + missing - missing // 2
        low, high = low - max(0, high - within[1]), high + max(0, within[0] - low)
    low, high = max(low, within[0]), min(high, within[1])
    spare = room - (high - low)
    start = low if low == within[0] else _start(content, low, max(within[0], low - min(spare, MAX_BORDER_CHARS)))
    spare -= low - start
    end = high if high == within[1] else _end(content, high, min(within[1], high + min(spare, MAX_BORDER_CHARS)))
    return _stripped(content, (start, end))


def _start(content: str, low: int, earliest: int) -> int:
    """Where the sentence or line begins, if that is near; else where a word does."""
    if earliest == 0:
        return 0
    borders = [border.end() for border in _SENTENCE_START.finditer(content, earliest, low)]
    borders = borders or [space.end() for space in _SPACE.finditer(content, earliest - 1, low)]
    if borders:
        return borders[-1]
    space = _SPACE.search(content, low, low + MAX_WORD_CHARS)
    return space.end() if space else low


def _end(content: str, high: int, latest: int) -> int:
    """Where the sentence or line ends, likewise."""
    if latest == len(content):
        return latest
    border = _SENTENCE_END.search(content, high - 1, latest + 1) or _SPACE.search(content, high, latest + 1)
    if border:
        return min(max(high, border.end()), latest)
    spaces = list(_SPACE.finditer(content, high - MAX_WORD_CHARS, high))
    return spaces[-1].start() if spaces else high


def _joined(content: str, parts: Sequence[Span]) -> list[Span]:
    """Two parts as one if nothing but space is between them."""
    (low, until), (since, high) = parts
    if high - low <= MAX_PASSAGE_CHARS and not content[until:since].strip():
        return [(low, high)]
    return list(parts)
