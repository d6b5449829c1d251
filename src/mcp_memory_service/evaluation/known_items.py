"""Queries with a known answer, made from memories themselves: one sentence of a text, to find the text without it.

The inverse cloze task (Lee, Chang and Toutanova, ACL 2019). The sentence is taken out of the text before it is searched
for: found by the words it was copied from, it would flatter the keyword signal.
"""

import hashlib
import re
from typing import NamedTuple

from ..hybrid_search import STOP_WORDS, word_tokens

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

# What people ask has about this many words; shorter sentences say too little, longer ones are no questions.
MIN_QUERY_WORDS, MAX_QUERY_WORDS = 3, 16
MIN_REST_WORDS = 4


class KnownItem(NamedTuple):
    query: str
    rest: str
    """The text without the query: what is to be found."""


def known_item(text: str) -> KnownItem | None:
    """A query and the rest of its text; None if the text is too short to be parted. Always the same for a text."""
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    choices = [number for number, sentence in enumerate(sentences) if _makes_a_query(sentence)]
    if len(sentences) < 2 or not choices:
        return None
    chosen = choices[int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % len(choices)]
    rest = "\n".join(sentence for number, sentence in enumerate(sentences) if number != chosen)
    if len(_informative(rest)) < MIN_REST_WORDS:
        return None
    return KnownItem(sentences[chosen], rest)


def _makes_a_query(sentence: str) -> bool:
    return MIN_QUERY_WORDS <= len(_informative(sentence)) <= MAX_QUERY_WORDS


def _informative(text: str) -> set[str]:
    return set(word_tokens(text, without_stop_words=True)) - STOP_WORDS
