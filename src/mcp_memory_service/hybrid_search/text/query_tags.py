"""Which tags a query names: words and phrases of the query that are existing tags."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from ...models import fold_tag
from .words import matching_units, split_words

STOP_WORDS: frozenset[str] = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by can could
    did do does doing down during each few for from further had has have having he her here hers him his how i if in
    into is it its itself just me more most my no nor not now of off on once only or other our ours out over own same
    she should so some such than that the their theirs them then there these they this those through to too under
    until up us very was we were what when where which while who whom whose why will with would you your yours
    s t d ll m re ve don doesn didn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn
    """.split()
)

# "project:rathole", "lang/python", "status=done": the part after the last separator names the thing itself.
_QUALIFIER = re.compile(r"[:/=]")


@dataclass(slots=True)
class _TrieNode:
    """Where a phrase has got to: the tags that end here, and the words that go on."""

    tags: list[str] = field(default_factory=list[str])
    next_words: "dict[str, _TrieNode]" = field(default_factory=dict[str, "_TrieNode"])


class TagVocabulary:
    """The existing tags, prepared once so that each query is a few look-ups however many tags there are."""

    def __init__(self, tags: Iterable[str]) -> None:
        self._first_words = _TrieNode()
        for tag in sorted({fold_tag(tag) for tag in tags}):
            for phrase in _phrases_naming(tag):
                node = self._first_words
                for word in phrase:
                    node = node.next_words.setdefault(word, _TrieNode())
                node.tags.append(tag)

    def tags_in(self, query: str) -> list[str]:
        """The folded tags that the query names, in the order of their first mention, each once."""
        units = matching_units(split_words(query))
        found: dict[str, None] = {}
        for start in range(len(units)):
            node: _TrieNode | None = self._first_words
            for unit in islice(units, start, None):
                node = node.next_words.get(unit)
                if node is None:
                    break
                found.update(dict.fromkeys(node.tags))
        return list(found)


def extract_query_keywords(query: str, existing_tags: Collection[str] | TagVocabulary | None = None) -> list[str]:
    """Potential tags in a query, case-folded, in order, each once.

    Without `existing_tags`: its words except stop words. With them: the existing tags that the query mentions,
    as a word or as adjacent words, whatever separates the words there and here.
    """
    if existing_tags is None:
        return list(dict.fromkeys(word for word in split_words(query) if word not in STOP_WORDS))
    vocabulary = existing_tags if isinstance(existing_tags, TagVocabulary) else TagVocabulary(existing_tags)
    return vocabulary.tags_in(query)


@lru_cache(maxsize=100_000)  # a vocabulary is made anew after every new tag, mostly of the same tags
def _phrases_naming(tag: str) -> frozenset[tuple[str, ...]]:
    """The word sequences by which a query may mean this tag: all of it, or what follows its last qualifier."""
    spellings = (tag, _QUALIFIER.split(tag)[-1])
    phrases = {tuple(matching_units(split_words(spelling))) for spelling in spellings}
    return frozenset(phrase for phrase in phrases if phrase and not _is_stop_word(phrase))


def _is_stop_word(phrase: tuple[str, ...]) -> bool:
    return len(phrase) == 1 and phrase[0] in STOP_WORDS
