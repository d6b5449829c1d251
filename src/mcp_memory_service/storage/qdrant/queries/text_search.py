"""The keyword signal: BM25 over our own words, in the order that SQLite's store gives."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from qdrant_client import models

from ....models import MemoryFilter, QueryTerms, TextMatches
from ..bm25 import Corpus, bm25, log_odds, rarity, search_breadth, server_rarity
from ..connection import QdrantConnection
from ..corpus_stats import TextStatistics
from ..filters import equals, has_phrase, has_term, passing
from ..points import NAME_MARK, TERMS, Payload, sparse_vector
from .top_candidates import Scored, SparseSearch, best_first, leading

FIELDS = ("terms", "length")

# So many kinds of equals are looked through where a search is cut; there is mostly one.
MAX_SHAPES = 8


@dataclass(frozen=True, slots=True)
class Sought:
    """The alternatives of a query: words, phrases and names, in the order in which FTS5 adds them up."""

    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, terms: QueryTerms) -> "Sought":
        return cls(terms.words, terms.phrases, tuple(NAME_MARK + name for name in terms.names))

    @property
    def single(self) -> tuple[str, ...]:
        return (*self.words, *self.names)

    @property
    def conditions(self) -> list[models.FieldCondition]:
        """What a memory must have to match each alternative."""
        return [*map(has_term, self.words), *map(has_phrase, self.phrases), *map(has_term, self.names)]

    def counts(self, terms: Sequence[str]) -> list[int]:
        """How often each alternative stands in a text."""
        counted = Counter(terms)
        return [
            *(counted[word] for word in self.words),
            *(_occurrences(phrase, terms) if all(map(counted.get, phrase)) else 0 for phrase in self.phrases),
            *(counted[name] for name in self.names),
        ]


@dataclass(frozen=True, slots=True)
class WordRanking:
    """A query with all that is needed to score memories by it."""

    sought: Sought
    rarities: Sequence[float]
    """Of each alternative."""
    average_length: float
    query_weights: Mapping[str, float]
    """Of single words and names: what turns the rarity that the server multiplies each by into ours."""
    where: MemoryFilter

    @classmethod
    def of(cls, sought: Sought, corpus: Corpus, having: Sequence[int], where: MemoryFilter) -> "WordRanking":
        """`having` says how many memories of the corpus have each alternative."""
        rarities = [rarity(corpus.memories, count) for count in having]
        corrections = [
            ours / server_rarity(corpus.memories, count) for ours, count in zip(rarities, having, strict=True)
        ]
        of_words = dict(zip(sought.words, corrections, strict=False))
        of_names = dict(zip(reversed(sought.names), reversed(corrections), strict=False))
        return cls(sought, rarities, corpus.average_length, of_words | of_names, where)

    def score(self, payload: Payload) -> float:
        return bm25(self.sought.counts(_terms(payload)), self.rarities, payload["length"], self.average_length)

    def searches(self) -> list[SparseSearch]:
        """One for all single words and names, and one for each phrase."""
        found = [self._with_phrase(phrase) for phrase in self.sought.phrases]
        if self.query_weights:
            found.append(self._search(self.query_weights, passing(self.where), self._alike))
        return found

    def _with_phrase(self, phrase: tuple[str, ...]) -> SparseSearch:
        where = passing(self.where, has_phrase(phrase))

        def alike(_found: Sequence[Scored]) -> models.Filter:
            return where

        return self._search(dict.fromkeys(phrase, 1.0), where, alike)

    def _search(
        self, weights: Mapping[str, float], where: models.Filter, alike: Callable[[Sequence[Scored]], models.Filter]
    ) -> SparseSearch:
        breadth = search_breadth(self.average_length)
        return SparseSearch(sparse_vector(weights), TERMS, where, FIELDS, self.score, alike, breadth)

    def _alike(self, found: Sequence[Scored]) -> models.Filter:
        """Texts of the same length with the same words of the query; almost always they score alike."""
        shapes = {
            (scored.payload["length"], frozenset(_terms(scored.payload)) & frozenset(self.sought.single))
            for scored in found
        }
        return passing(self.where, one_of=[self._shaped(length, terms) for length, terms in islice(shapes, MAX_SHAPES)])

    def _shaped(self, length: int, present: frozenset[str]) -> models.Filter:
        return models.Filter(
            must=[equals("length", length), *(has_term(term) for term in self.sought.single if term in present)],
            must_not=[has_term(term) for term in self.sought.single if term not in present],
        )


async def matching(
    connection: QdrantConnection, statistics: TextStatistics, terms: QueryTerms, limit: int, where: MemoryFilter
) -> TextMatches:
    if not terms:
        return TextMatches()
    sought = Sought.of(terms)
    corpus, having = await asyncio.gather(statistics.corpus(), statistics.having_each(sought.conditions))
    ranking = WordRanking.of(sought, corpus, having, where)
    found = await asyncio.gather(*(leading(connection, search, limit) for search in ranking.searches()))
    together = best_first(scored for part in found for scored in part)
    words_of_best = [word for scored in together[:1] for word in _terms(scored.payload)]
    return TextMatches(
        [scored.candidate for scored in together[:limit]], frozenset(terms.all_words).intersection(words_of_best)
    )


async def inverse_document_frequencies(statistics: TextStatistics, words: Sequence[str]) -> dict[str, float]:
    """A memory has a word as such or as a name."""
    either = [models.Filter(should=[has_term(word), has_term(NAME_MARK + word)]) for word in words]
    corpus, having = await asyncio.gather(statistics.corpus(), statistics.having_each(either))
    return {word: max(0.0, log_odds(corpus.memories, count)) for word, count in zip(words, having, strict=True)}


def _terms(payload: Payload) -> list[str]:
    return payload["terms"].split(" ")


def _occurrences(phrase: Sequence[str], terms: Sequence[str]) -> int:
    wanted = list(phrase)
    return sum(list(terms[start : start + len(wanted)]) == wanted for start in range(len(terms) - len(wanted) + 1))
