"""The keyword signal: BM25 over our own words, in the order that SQLite's store gives."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from qdrant_client import models

from ...models import Candidate, MemoryFilter, QueryTerms
from .bm25 import LEAST_RARITY, bm25, log_odds
from .connection import QdrantConnection
from .filters import equals, has_phrase, has_term, passing
from .leading import SparseSearch, best_first, leading
from .points import NAME_MARK, TERMS, Payload, term_query
from .statistics import TextStatistics

FIELDS = ("terms", "length")


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
        return [
            *(terms.count(word) for word in self.words),
            *(_occurrences(phrase, terms) for phrase in self.phrases),
            *(terms.count(name) for name in self.names),
        ]


@dataclass(frozen=True, slots=True)
class WordRanking:
    """A query with all that is needed to score memories by it."""

    sought: Sought
    rarities: Sequence[float]
    average_length: float
    where: MemoryFilter

    def score(self, payload: Payload) -> float:
        return bm25(self.sought.counts(_terms(payload)), self.rarities, payload["length"], self.average_length)

    def searches(self) -> list[SparseSearch]:
        """One for all single words and names, and one for each phrase."""
        single = self.sought.single
        found = [self._with_phrase(phrase) for phrase in self.sought.phrases]
        if single:
            query = term_query(single)
            found.append(SparseSearch(query, TERMS, passing(self.where), FIELDS, self.score, self._shape_of))
        return found

    def _with_phrase(self, phrase: tuple[str, ...]) -> SparseSearch:
        where = passing(self.where, has_phrase(phrase))

        def shape_of(_payload: Payload) -> models.Filter:
            return where

        return SparseSearch(term_query(phrase), TERMS, where, FIELDS, self.score, shape_of)

    def _shape_of(self, payload: Payload) -> models.Filter:
        """Texts of the same length with the same words of the query; almost always they score alike."""
        present = set(_terms(payload))
        return passing(
            self.where,
            equals("length", payload["length"]),
            *(has_term(term) for term in self.sought.single if term in present),
            none_of=[has_term(term) for term in self.sought.single if term not in present],
        )


async def matching(
    connection: QdrantConnection, statistics: TextStatistics, terms: QueryTerms, limit: int, where: MemoryFilter
) -> list[Candidate]:
    if not terms:
        return []
    sought = Sought.of(terms)
    corpus, having = await asyncio.gather(statistics.corpus(), statistics.having_each(sought.conditions))
    rarities = [_rarity(corpus.memories, count) for count in having]
    ranking = WordRanking(sought, rarities, corpus.average_length, where)
    found = await asyncio.gather(*(leading(connection, search, limit) for search in ranking.searches()))
    together = best_first(scored for part in found for scored in part)
    return [scored.candidate for scored in together[:limit]]


async def word_rarities(statistics: TextStatistics, words: Sequence[str]) -> dict[str, float]:
    """A memory has a word as such or as a name."""
    either = [models.Filter(should=[has_term(word), has_term(NAME_MARK + word)]) for word in words]
    corpus, having = await asyncio.gather(statistics.corpus(), statistics.having_each(either))
    return {word: max(0.0, _log_odds(corpus.memories, count)) for word, count in zip(words, having, strict=True)}


def _rarity(memories: int, having: int) -> float:
    rarity = _log_odds(memories, having)
    return rarity if rarity > 0 else LEAST_RARITY


def _log_odds(memories: int, having: int) -> float:
    """The corpus may have been measured before the last of those that have the word were written."""
    return log_odds(max(memories, having), having)


def _terms(payload: Payload) -> list[str]:
    return payload["terms"].split(" ")


def _occurrences(phrase: Sequence[str], terms: Sequence[str]) -> int:
    wanted = list(phrase)
    return sum(list(terms[start : start + len(wanted)]) == wanted for start in range(len(terms) - len(wanted) + 1))
