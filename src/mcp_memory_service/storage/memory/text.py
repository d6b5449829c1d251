"""The words of a memory, and BM25 over those of a corpus."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ...hybrid_search.bm25 import idf, length_norm, term_weight
from ...models import IndexedText, QueryTerms


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a memory in order, and how often each comes."""

    labels: tuple[str, ...]
    words: tuple[str, ...]
    in_text: Counter[str]
    """Those of labels and words together, as queries ask for them."""
    in_names: Counter[str]

    @classmethod
    def of(cls, text: IndexedText) -> "Words":
        labels, words = tuple(text.labels.split()), tuple(text.words.split())
        return cls(labels, words, Counter(labels + words), Counter(text.names.split()))

    @property
    def length(self) -> int:
        return self.in_text.total() + self.in_names.total()

    def has(self, term: str) -> bool:
        return term in self.in_text or term in self.in_names

    def counts(self, terms: QueryTerms) -> list[int]:
        """How often each alternative of a query comes, in the order in which scores are summed."""
        return [
            *(self.in_text[word] for word in terms.words),
            *(_occurrences(phrase, self.labels) + _occurrences(phrase, self.words) for phrase in terms.phrases),
            *(self.in_names[name] for name in terms.names),
        ]


def bm25_scores(texts: Collection[Words], terms: QueryTerms) -> Iterator[float]:
    """The score of each text; 0 for one that has no alternative of the query."""
    counts = [text.counts(terms) for text in texts]
    columns = zip(terms.weights, zip(*counts, strict=True), strict=False)  # of no texts there are no columns
    idfs = [weight * idf(len(texts), sum(map(bool, column))) for weight, column in columns]
    mean_length = sum(text.length for text in texts) / max(len(texts), 1)
    for text, text_counts in zip(texts, counts, strict=True):
        norm = length_norm(text.length, mean_length) if any(text_counts) else 1.0
        weighed = zip(idfs, text_counts, strict=True)
        yield sum(weight * term_weight(float(count), norm) for weight, count in weighed if count)


def _occurrences(phrase: Sequence[str], words: Sequence[str]) -> int:
    """How often the words of a phrase stand together."""
    places = range(len(words) - len(phrase) + 1)
    return sum(tuple(words[place : place + len(phrase)]) == tuple(phrase) for place in places)
