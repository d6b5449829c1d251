"""Text as the keyword signal sees it: stemmed words in order, and names kept exact beside them.

The same for every store, so that a keyword search finds the same memories whichever engine holds them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from threading import Lock
from typing import Any

from ...models import IndexedText, QueryTerms
from .query_tags import STOP_WORDS
from .words import fold, is_unspaced, matching_units, split_words

# A name with something inside that splits it into words: authenticate_user, node.js, CVE-2025-1234, src/a.rs:287,
# parseHTTPResponse, c++. It is kept whole as well as in parts.
_COMPOUND = re.compile(r"[^\W_]+(?:[._/:@+#\-\\]+[^\W_]+)*[+#]*|_+[^\W_]+(?:_+[^\W_]+)*_*")
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_ONE_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")  # most of them
_PATH_BOUNDARY = re.compile(r"[/:\\@]+")
_SEGMENT_BOUNDARY = re.compile(r"[/:\\@.]+")
_QUOTED = re.compile(r'"([^"]+)"')
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)

_ADDRESS_SIGN = frozenset("@/:\\")
_PART_BOUNDARY = re.compile(r"[._+#\-]+")
# Two addresses or ids before each query of six sets cost the keyword signal .013 to .136 NDCG@10 (mean .064) if their
# parts count as words, .018 on average with 0.5, .010 with 0.25, .008 without; plain queries lose nothing with 0.25.
ADDRESS_PART_WEIGHT = 0.25

# Beyond this many different words a query says nothing more, and each costs a walk through its postings.
MAX_QUERY_TERMS = 48
_STEM_CACHE = 50_000

_english: Any = import_module("Stemmer").Stemmer("english")  # by name: the library has no types
_english_lock = Lock()  # a stemmer has buffers of its own, and texts are analyzed on several threads


def indexed_text(content: str, labels: Sequence[str] = ()) -> IndexedText:
    """What a full-text index holds of a memory: its words, and once more those of its Markdown headings and its labels,
    so that a word which only a tag or the title of its note has finds the memory too."""
    headings = "\n".join([*_HEADING.findall(content), *labels])
    text = "\n".join([content, *labels])
    return IndexedText(" ".join(word_tokens(headings)), " ".join(word_tokens(content)), " ".join(name_tokens(text)))


@lru_cache(maxsize=64)  # asked once by the search and once for each snippet of the page
def query_terms(query: str) -> QueryTerms:
    """The informative words of a query; stop words count only when there is nothing else."""
    quoted = [part for part in _QUOTED.findall(query) if len(word_tokens(part)) > 1]
    open_text = query
    for part in quoted:
        open_text = open_text.replace(f'"{part}"', " ", 1)
    phrases = tuple(tuple(word_tokens(part)) for part in quoted)
    weights = _word_weights(open_text)
    names = _distinct(name_tokens(open_text))
    if not (weights or names or phrases):
        weights = dict.fromkeys(word_tokens(open_text), 1.0)
    word_weights = None if set(weights.values()) <= {1.0} else tuple(weights.values())[:MAX_QUERY_TERMS]
    return QueryTerms(
        tuple(weights)[:MAX_QUERY_TERMS], names[:MAX_QUERY_TERMS], phrases[:MAX_QUERY_TERMS], word_weights
    )


def _word_weights(text: str) -> dict[str, float]:
    """The words of a query without stop words: one counts as often as it is said, and the parts of addresses and ids
    little, for each looks like a rare word and says nothing by itself. Their whole is among the names."""
    addresses = [name for name in _COMPOUND.findall(text) if _is_address(name)]
    for address in addresses:
        text = text.replace(address, " ", 1)
    weights: dict[str, float] = {}
    for word in word_tokens(text, without_stop_words=True):
        weights[word] = weights.get(word, 0.0) + 1.0
    for part in word_tokens(" ".join(addresses), without_stop_words=True):
        weights.setdefault(part, ADDRESS_PART_WEIGHT)
    return weights


def _is_address(name: str) -> bool:
    """A path, a mail or web address, a moment, an IP number, a UUID: not `node.js`, `IL-6` or `OPS-1234`."""
    if not _ADDRESS_SIGN.isdisjoint(name):
        return True
    return len(name) > 4 and sum(map(_has_digit, _PART_BOUNDARY.split(name))) > 1


def _has_digit(part: str) -> bool:
    return any(map(str.isdigit, part))


def plain_words(text: str) -> list[str]:
    """The words of a text as they are written, but for case; names in camel case in their parts."""
    return split_words(_CAMEL_BOUNDARY.sub(" ", text))


def word_tokens(text: str, *, without_stop_words: bool = False) -> list[str]:
    words = split_words(_CAMEL_BOUNDARY.sub(" ", text))  # as plain_words does, which is a call more
    if without_stop_words:
        words = [word for word in words if word not in STOP_WORDS]
    if all(map(str.isascii, words)):
        return list(map(stem, words))
    return [form for word in words for form in _word_forms(word)]


def name_tokens(text: str) -> list[str]:
    """Compound names whole, and their segments that are compound themselves: `src/a_b.rs:7` has `a_b.rs` and `a_b`."""
    names: list[str] = []
    for name in _COMPOUND.findall(text):
        if _ONE_WORD.fullmatch(name):
            continue
        segments = dict.fromkeys((name, *_PATH_BOUNDARY.split(name), *_SEGMENT_BOUNDARY.split(name)))
        # Folding makes a space of some signs, and a name has none.
        names += ["".join(fold(segment).split()) for segment in segments if _is_compound(segment)]
    if not text.isascii():
        names += [unit for unit in matching_units(split_words(text)) if len(unit) == 1 and is_unspaced(unit)]
    return names


def _is_compound(name: str) -> bool:
    return name[:1] == "_" or name[-1:] in {"+", "#", "_"} or len(split_words(_CAMEL_BOUNDARY.sub(" ", name))) > 1


def _word_forms(word: str) -> Iterator[str]:
    units = matching_units([word])
    if not any(is_unspaced(unit[0]) for unit in units):
        yield stem(word)
        return
    if len(units) == 1:
        yield units[0]
    for first, second in pairwise(units):
        yield first + second


@lru_cache(maxsize=_STEM_CACHE)
def stem(word: str) -> str:
    """English stems; words with digits or of other alphabets stay as they are."""
    if not (word.isascii() and word.isalpha()):
        return word
    with _english_lock:
        return _english.stemWord(word)


def _distinct(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tokens))
