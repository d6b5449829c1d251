"""The keyword signal: BM25 over our own words, in the order that SQLite's store gives."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from qdrant_client import models

from ....hybrid_search.bm25 import idf, length_norm, term_weight
from ....models import CorpusStatistics, MemoryFilter, QueryTerms, TextMatches
from ..connection import QdrantConnection
from ..corpus_stats import Corpus, CountedCorpus, TextStatistics
from ..filters import equals, has_phrase, has_term, passing
from ..points import NAME_MARK, REFERENCE_LENGTH, TERMS, Payload, sparse_vector
from .top_candidates import Scored, SparseSearch, leading, ranked

FIELDS = ("terms", "length")

# The further the true mean length is from that of the stored weights, the more candidates are fetched. With so many,
# the first 250 and the first 20 are those of FTS5 for all of 60 queries on each of six sets, of 35 to 1,736 words a
# text (bench/stores_agree.py).
BREADTH_PER_RATIO = 0.6
MAX_BREADTH = 6.0

# So many kinds of equals are looked through where a search is cut; there is mostly one.
MAX_SHAPES = 8


@dataclass(frozen=True, slots=True)
class Sought:
    """The alternatives of a query: words, phrases and names, in the order in which scores are summed."""

    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    weights: Sequence[float]
    """How much each counts."""

    @classmethod
    def of(cls, terms: QueryTerms) -> "Sought":
        return cls(terms.words, terms.phrases, tuple(NAME_MARK + name for name in terms.names), terms.weights)

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


class Counted(NamedTuple):
    """How much text there is, and how many memories have each alternative of a query."""

    corpus: Corpus
    document_frequencies: Sequence[int]


@dataclass(frozen=True, slots=True)
class WordRanking:
    """A query with all that is needed to score memories by it."""

    sought: Sought
    idfs: Sequence[float]
    """Of each alternative, times how much it counts."""
    mean_length: float
    query_weights: Mapping[str, float]
    """Of single words and names: what turns the idf that the server multiplies each by into ours."""
    where: MemoryFilter

    @classmethod
    def of(cls, sought: Sought, counted: Counted, of_all: Counted, where: MemoryFilter) -> "WordRanking":
        memories, weighed = counted.corpus.memories, zip(sought.weights, counted.document_frequencies, strict=True)
        idfs = [weight * idf(memories, each) for weight, each in weighed]
        of_server = [idf(of_all.corpus.memories, each) for each in of_all.document_frequencies]
        corrections = [ours / theirs for ours, theirs in zip(idfs, of_server, strict=True)]
        of_words = dict(zip(sought.words, corrections, strict=False))
        of_names = dict(zip(reversed(sought.names), reversed(corrections), strict=False))
        return cls(sought, idfs, counted.corpus.mean_length, of_words | of_names, where)

    def score(self, payload: Payload) -> float:
        """BM25, added up in the order of the alternatives; 0 if the text has none of them."""
        norm = length_norm(payload["length"], self.mean_length)
        counts = self.sought.counts(_terms(payload))
        score = 0.0  # one by one: `sum` adds up more exactly than the other stores do
        for idf_of_term, count in zip(self.idfs, counts, strict=True):
            if count:
                score += idf_of_term * term_weight(count, norm)
        return score

    def searches(self) -> list[SparseSearch]:
        """One for all single words and names, and one for each phrase."""
        ratio = self.mean_length / REFERENCE_LENGTH
        breadth = min(MAX_BREADTH, 1.0 + BREADTH_PER_RATIO * max(ratio, 1.0 / ratio))
        found: list[SparseSearch] = []
        for phrase in self.sought.phrases:
            vector, where = sparse_vector(dict.fromkeys(phrase, 1.0)), passing(self.where, has_phrase(phrase))
            found.append(SparseSearch(vector, TERMS, where, FIELDS, self.score, breadth))
        if self.query_weights:
            vector, where = sparse_vector(self.query_weights), passing(self.where)
            found.append(SparseSearch(vector, TERMS, where, FIELDS, self.score, breadth, self._alike))
        return found

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


async def search_by_text(
    connection: QdrantConnection, statistics: TextStatistics, terms: QueryTerms, limit: int, where: MemoryFilter
) -> TextMatches:
    if not terms:
        return TextMatches()
    sought, own = Sought.of(terms), statistics.of(where)
    counted = await _counted(own, sought.conditions)
    of_all = counted if await own.is_all() else await _counted(statistics.of_all, sought.conditions)
    ranking = WordRanking.of(sought, counted, of_all, where)
    found = await asyncio.gather(*(leading(connection, search, limit) for search in ranking.searches()))
    together = ranked(scored for part in found for scored in part)
    words_of_best = [word for scored in together[:1] for word in _terms(scored.payload)]
    return TextMatches(
        [scored.candidate for scored in together[:limit]], frozenset(terms.all_words).intersection(words_of_best)
    )


async def corpus_statistics(
    corpus: CountedCorpus, counting: Coroutine[Any, Any, int], words: Sequence[str], tags: Sequence[str]
) -> CorpusStatistics:
    # A memory has a word as such or as a name.
    either = [models.Filter(should=[has_term(word), has_term(NAME_MARK + word)]) for word in words]
    memories, having_word, having_tag = await asyncio.gather(
        counting,
        corpus.document_frequencies(either),
        asyncio.gather(*(corpus.count(equals("tag_keys", tag)) for tag in tags)),
    )
    return CorpusStatistics(
        memories, dict(zip(words, having_word, strict=True)), dict(zip(tags, having_tag, strict=True))
    )


async def _counted(counted: CountedCorpus, conditions: Sequence[models.Condition]) -> Counted:
    return Counted(*await asyncio.gather(counted.corpus(), counted.document_frequencies(conditions)))


def _terms(payload: Payload) -> list[str]:
    return payload["terms"].split(" ")


def _occurrences(phrase: Sequence[str], terms: Sequence[str]) -> int:
    wanted = list(phrase)
    return sum(list(terms[start : start + len(wanted)]) == wanted for start in range(len(terms) - len(wanted) + 1))
