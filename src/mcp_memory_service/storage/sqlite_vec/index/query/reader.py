"""An index at one moment: never changed, so that a search sees one state of the store from beginning to end.

Words and tags give what the queries over rows of reads.py give; of vectors, the nearest do, and further down
similarities are right to about 0.002.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain

import apsw
import numpy as np
from numpy.typing import NDArray

from .....hybrid_search.bm25 import MAX_TERM_WEIGHT, idf, length_norm
from .....hybrid_search.columns.candidates import Candidates
from .....hybrid_search.columns.digests import DIGEST_BYTES, NumberedDigests
from .....models import Candidate, CorpusStatistics, MemoryFilter, QueryTerms, Vector
from ...queries import reads, text_search
from ...text_index import tokens_like
from ..format.quantization import Quantizer, exact_similarities, nearest_codes, similarities, unit_length
from ..format.segment import NAME, NONE, TAG, WORD, Key, Mask, Postings, Segment, tag_term
from ..format.segment_file import MappedFile
from ..source import NameCodes, Position
from .corpus import NO_CORPUS, UNKNOWN, Corpus, Selection, corpus_mask
from .maxscore import Places, Score, Term, top_sums
from .scores import bm25, bm25_of_some, constant, looked_up
from .topk import NOBODY, Found, joined, kth_largest, positions_in, ranked, top

MIN_COMPARED = 1_000
OVERSAMPLING = 1.5
"""Vectors that are compared by their bytes, for each one that is wanted; recall@10 is in docs/benchmarks.md."""
MAX_WITHOUT_CODES = 4_000
"""So few vectors are compared by their bytes at once, without comparing sign bits first."""
RESCORED = 20
"""The best are rescored by the stored vectors, so that the first pages are exact."""

MIN_SCORE = 1e-12
"""A tag without weight finds its memories too; rounding makes it 0 again."""
TAG_DIGITS = 9
"""As in reads.py: equal sets of tags stay equal in whatever order they are summed."""
TAG_TOLERANCE = 10.0**-TAG_DIGITS

CachedTerm = tuple[int | None, bytes, str]
"""The code of the namespace, unless postings are those of all documents; the kind of the term, and the term."""
MAX_CACHED_TERMS = 256
MAX_CACHED_POSTINGS = 5_000
"""Longer ones are not kept: after a deletion they are copies, and would take much memory together."""


MAX_SELECTIONS = 8
"""A byte a document for each, for as long as nothing changes."""


@dataclass(frozen=True)
class IndexReader:
    """What an index answers of the searches of a store; the connection is for what it leaves to the database."""

    position: Position
    segments: tuple[Segment, ...]
    quantizer: Quantizer
    dimension: int
    key: Key
    namespaces: NameCodes
    memory_types: NameCodes
    corpora: Mapping[int, Corpus]
    """Of what is there, by the code of the namespace; none is empty."""
    file: MappedFile | None
    """What its first segment is mapped from, if that is a file."""
    _cached: dict[CachedTerm, list[Postings]] = field(default_factory=dict[CachedTerm, list[Postings]])
    """A search asks for the postings of a term several times."""
    _selections: dict[str | MemoryFilter, Selection] = field(default_factory=dict[str | MemoryFilter, Selection])
    """By the namespace if it is whole, else by the filter."""

    def is_intact(self) -> bool:
        """Whether nobody has written to its file: what was found before can be trusted."""
        return self.file is None or self.file.is_unchanged()

    def retrieve(
        self, connection: apsw.Connection, query_vector: Vector, limit: int, where: MemoryFilter
    ) -> Sequence[Candidate]:
        masks = self._masks(where)
        if masks is None:
            return NOBODY
        query = query_vector if self.quantizer.exact else unit_length(query_vector[None])[0]
        code = self.quantizer.codes(query[None])[:, 0]
        wanted = max(MIN_COMPARED, round(OVERSAMPLING * limit))
        while True:
            found: list[Found] = []
            size, complete = 0, True
            for segment, mask in zip(self.segments, masks, strict=True):
                of_segment, is_complete = self._nearest(segment, mask, query, code, wanted)
                found.append(of_segment)
                size, complete = size + of_segment.documents.size, complete and is_complete
            if complete or size >= limit:
                break
            wanted *= 4  # chunks of the same few memories took the places
        if not self.quantizer.exact:
            found = _rescored(connection, query_vector, top(found, max(limit, RESCORED)))
        return ranked(found, limit, self.digests)

    def search_by_text(
        self, connection: apsw.Connection, terms: QueryTerms, limit: int, where: MemoryFilter
    ) -> Sequence[Candidate]:
        """An index knows no places of words: phrases are asked of the text index, each by itself."""
        words, names = _as_indexed(connection, terms.words), _as_indexed(connection, terms.names)
        if words is None or names is None:
            return text_search.search_by_text(connection, terms, limit, where)
        masks = self._masks(where)
        if masks is None or not terms:
            return NOBODY
        # In the order of the weights.
        selected = self._selected(where)
        scores = self._bm25_within(selected)
        weights = terms.weights
        scored = self._word_terms(WORD, words, weights, selected, scores)
        for phrase in terms.phrases:
            scored.append(self._phrase_terms(text_search.phrase_scores(connection, phrase, where)))
        scored += self._word_terms(NAME, names, weights[len(scored) :], selected, scores)
        found: list[Found] = []
        for number, (segment, mask) in enumerate(zip(self.segments, masks, strict=True)):
            of_segment = [of_segments[number] for of_segments in scored]
            found.append(Found(segment, *top_sums(of_segment, segment.size, mask, limit)))
        return ranked(found, limit, self.digests, newest_first=True)

    def words_of_best(
        self, connection: apsw.Connection, found: Sequence[Candidate], terms: QueryTerms, namespace: str
    ) -> frozenset[str]:
        """Which of all words of the query the first of the found has."""
        words, ids = terms.all_words, found.content_hashes if isinstance(found, Candidates) else None
        if not isinstance(ids, NumberedDigests) or not all(map(str.isascii, words)):
            return text_search.words_of_best(connection, found, terms, namespace)
        best = int(ids.numbers[0])
        number = sum([best >= segment.first for segment in self.segments]) - 1
        document = best - self.segments[number].first
        there: list[str] = []
        for word, of_segments in zip(words, self._postings(WORD, words, namespace), strict=True):
            documents = of_segments[number].documents
            place = documents.searchsorted(documents.dtype.type(document))  # of one type: see `positions_in`
            if place < documents.size and documents[place] == document:
                there.append(word)
        return frozenset(there)

    def search_by_tag(self, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Candidates:
        masks = self._masks(where)
        if masks is None:
            return NOBODY
        postings = self._postings(TAG, [tag_term(where.namespace, tag) for tag in weights], where.namespace)
        weighted = [(of_tag, max(weight, MIN_SCORE)) for of_tag, weight in zip(postings, weights.values(), strict=True)]
        found: list[Found] = []
        for number, (segment, mask) in enumerate(zip(self.segments, masks, strict=True)):
            terms = [Term(of_tag[number], weight, weight, constant) for of_tag, weight in weighted]
            documents, sums = top_sums(terms, segment.size, mask, limit, TAG_TOLERANCE)
            found.append(Found(segment, documents, sums.round(TAG_DIGITS)))
        return ranked(found, limit, self.digests, newest_first=True)

    def corpus_statistics(self, where: MemoryFilter, words: Sequence[str], tags: Sequence[str]) -> CorpusStatistics:
        """A word may be there as one of the text, or as a whole name."""
        selected, having_word = self._selected(where), dict[str, int]()
        as_words, as_names = self._postings_within(selected, WORD, words), self._postings_within(selected, NAME, words)
        for word, of_word, of_name in zip(words, as_words, as_names, strict=True):
            documents = 0
            for one, other in zip(of_word, of_name, strict=True):
                documents += one.documents.size
                if other.documents.size:
                    in_both, _ = positions_in(one.documents, other.documents)
                    documents += other.documents.size - in_both.size
            having_word[word] = documents
        having_tag: dict[str, int] = {}
        if tags:
            tagged = self._postings_within(selected, TAG, [tag_term(where.namespace, tag) for tag in tags])
            sizes = [sum([postings.documents.size for postings in of_tag]) for of_tag in tagged]
            having_tag = dict(zip(tags, sizes, strict=True))
        return CorpusStatistics(selected.corpus.documents, having_word, having_tag)

    def sample(self, where: MemoryFilter, limit: int) -> tuple[list[int], int, int]:
        """The ids of the first memories of the corpus by content_hash that have vectors, how many there are in all, and
        how many of these have none."""
        selected, keys = self._selected(where), list[NDArray[np.uint64]]()
        ids: list[NDArray[np.int64]] = []
        for segment, mask in zip(self.segments, selected.masks, strict=True):
            conditions = [each for each in (mask, segment.embedded) if each is not None]
            places = np.logical_and.reduce(conditions) if conditions else slice(None)
            digests = segment.documents.hashes[places]
            keys.append(np.ascontiguousarray(digests).view(">u8")[:, 0])  # two of a million are not alike in so much
            ids.append(segment.documents.memory_ids[places])
        order = np.argsort(np.concatenate(keys), kind="stable")
        there = selected.corpus.documents
        return joined(ids)[order[:limit]].tolist(), there, there - order.size

    def _nearest(
        self, segment: Segment, mask: Mask | None, query: Vector, code: NDArray[np.uint64], wanted: int
    ) -> tuple[Found, bool]:
        """The documents of the chunks nearest to the query, each once with its best score, and whether these are all
        that there are."""
        chunks = segment.chunks
        passing = mask if mask is None or segment.one_chunk_each else mask[chunks.documents]
        there = chunks.documents.size if passing is None else int(np.count_nonzero(passing))
        if there <= max(MAX_WITHOUT_CODES, wanted):
            rows = np.arange(there) if passing is None else passing.nonzero()[0]
        else:
            rows = nearest_codes(chunks.codes, code, wanted, passing)
        compare = exact_similarities if self.quantizer.exact else similarities
        scores = compare(chunks.stored, chunks.scales, rows, query).astype(np.float64, copy=False)
        documents = chunks.documents[rows].astype(np.intp)
        if not segment.one_chunk_each:
            order = np.argsort(-scores, kind="stable")
            documents, first = np.unique(documents[order], return_index=True)
            scores = scores[order[first]]
        return Found(segment, documents, scores), rows.size == there

    def digests(self, numbers: Places) -> NDArray[np.uint8]:
        """Of documents by their numbers among those of all segments."""
        if len(self.segments) == 1:
            return self.segments[0].documents.hashes[numbers]
        rows = np.empty((numbers.size, DIGEST_BYTES), np.uint8)
        for segment in self.segments:
            (here,) = ((numbers >= segment.first) & (numbers < segment.first + segment.size)).nonzero()
            rows[here] = segment.documents.hashes[numbers[here] - segment.first]
        return rows

    def count_all_memories(self, namespace: str) -> int:
        return self._of_namespace(namespace).documents

    def _of_namespace(self, namespace: str) -> Corpus:
        return self.corpora.get(self.namespaces.codes.get(namespace, NONE), NO_CORPUS)

    def _other_than_all(self, namespace: str) -> int | None:
        """The code of a namespace, or None if it has all documents: nothing needs to be filtered by it then."""
        code = self.namespaces.codes.get(namespace, NONE)
        return None if len(self.corpora) == 1 and code in self.corpora else code

    def _postings(self, kind: bytes, terms: Sequence[str], namespace: str) -> list[list[Postings]]:
        """Of each term in each segment, in the documents of a namespace that are still there."""
        code = None if kind == TAG else self._other_than_all(namespace)  # a tag is of one namespace
        found: dict[str, list[Postings]] = {}
        unknown: list[str] = []
        for term in terms:
            known = self._cached.get((code, kind, term))  # other threads may clear it at any time
            if known is None:
                unknown.append(term)
            else:
                found[term] = known
        if unknown:
            keys = [self.key(kind, term) for term in unknown]
            of_segments = [segment.postings(keys) for segment in self.segments]
            for term, of_term in zip(unknown, zip(*of_segments, strict=True), strict=True):
                found[term] = self._kept((code, kind, term), list(of_term))
        return [found[term] for term in terms]

    def _postings_within(self, selected: Selection, kind: bytes, terms: Sequence[str]) -> list[list[Postings]]:
        """The same in the documents of a corpus."""
        found = self._postings(kind, terms, selected.namespace)
        if selected.is_whole:
            return found
        return [
            [each if mask is None else each.only(mask) for each, mask in zip(of_term, selected.masks, strict=True)]
            for of_term in found
        ]

    def _kept(self, key: CachedTerm, postings: list[Postings]) -> list[Postings]:
        code, size = key[0], 0
        for number, segment in enumerate(self.segments):
            if segment.live is not None:
                postings[number] = postings[number].only(segment.live)
            if code is not None:
                postings[number] = postings[number].within(segment.documents.namespaces, code)
            size += postings[number].documents.size
        if len(self._cached) >= MAX_CACHED_TERMS:
            self._cached.clear()
        if size <= MAX_CACHED_POSTINGS:
            self._cached[key] = postings
        return postings

    def _word_terms(
        self,
        kind: bytes,
        words: Sequence[str],
        weights: Sequence[float],
        selected: Selection,
        scores: Sequence[Score],
    ) -> list[list[Term]]:
        """Of each word or name, for each segment; the weights may go on."""
        documents = selected.corpus.documents
        terms: list[list[Term]] = []
        for counts, of_segments in zip(weights, self._postings_within(selected, kind, words), strict=False):
            weight = counts * idf(documents, sum([postings.documents.size for postings in of_segments]))
            bound = weight * MAX_TERM_WEIGHT
            scored = zip(of_segments, scores, strict=True)
            terms.append([Term(postings, weight, bound, score) for postings, score in scored])
        return terms

    def _bm25_within(self, selected: Selection) -> Sequence[Score]:
        """For each segment. Of a part of the documents, norms are made for what is scored: kept, they would take eight
        bytes a document for each filter."""
        if selected.is_whole and self._other_than_all(selected.namespace) is None:
            return self._bm25_of_all
        mean_length = selected.corpus.mean_length
        return [partial(bm25_of_some, segment.documents.lengths, mean_length) for segment in self.segments]

    @cached_property
    def _bm25_of_all(self) -> Sequence[Score]:
        """The norms of documents hold for as long as nothing changes."""
        (corpus,) = self.corpora.values()
        lengths = (segment.documents.lengths.astype(np.float64) for segment in self.segments)
        return [partial(bm25, length_norm(each, corpus.mean_length)) for each in lengths]

    def _phrase_terms(self, phrase: Mapping[int, float]) -> list[Term]:
        """What a phrase adds to memories, by their ids, for each segment."""
        ids = np.array(sorted(phrase), np.int64)
        terms: list[Term] = []
        for segment in self.segments:
            places = segment.places(ids)
            places = np.sort(places if segment.live is None else places[segment.live[places]])
            memory_ids = segment.documents.memory_ids[places].tolist()
            scores = np.array([phrase[memory_id] for memory_id in memory_ids], np.float64)
            # In place of frequencies: where the scores are.
            postings = Postings(places, np.arange(places.size))
            terms.append(Term(postings, 1.0, float(scores.max(initial=MIN_SCORE)), partial(looked_up, scores)))
        return terms

    def _masks(self, where: MemoryFilter) -> "list[Mask | None] | None":
        """Which documents of each segment pass a filter: None for a segment of which all do, None at all if no document
        of the store can."""
        selected = self._selected(where)
        if not selected.corpus.documents:
            return None
        masks = list(selected.masks)
        for number, segment in enumerate(self.segments):
            if where.alive_at is not None and segment.first_expiry <= where.alive_at:
                alive, mask = segment.documents.expires_at > where.alive_at, masks[number]
                masks[number] = alive if mask is None else mask & alive
        return masks

    def _selected(self, where: MemoryFilter) -> Selection:
        """The corpus of a filter, which is the same for all parts of a search."""
        is_whole = where.has_whole_namespace
        key = where.namespace if is_whole else where.corpus
        known = self._selections.get(key)  # other threads may clear them at any time
        if known is None:
            masks = self._masks_of_corpus(where)
            corpus = self._of_namespace(where.namespace) if is_whole else Corpus.of(self.segments, masks)
            if len(self._selections) >= MAX_SELECTIONS:
                self._selections.clear()
            known = self._selections[key] = Selection(where.namespace, masks, corpus, is_whole)
        return known

    def _masks_of_corpus(self, where: MemoryFilter) -> "list[Mask | None]":
        namespace = self._other_than_all(where.namespace)
        types = [self.memory_types.codes.get(each, UNKNOWN) for each in where.types]
        tagged = self._tagged(where) if where.tags else [None] * len(self.segments)
        return [
            corpus_mask(segment, where, namespace, types, with_tags)
            for segment, with_tags in zip(self.segments, tagged, strict=True)
        ]

    def _tagged(self, where: MemoryFilter) -> "list[Mask]":
        """Which documents of each segment have any or all of the tags asked for."""
        counts = [np.zeros(segment.size, np.uint16) for segment in self.segments]
        tags = [tag_term(where.namespace, tag) for tag in dict.fromkeys(where.tags)]
        for of_tag in self._postings(TAG, tags, where.namespace):
            for count, postings in zip(counts, of_tag, strict=True):
                count[postings.documents] += 1
        needed = len(where.tags) if where.tag_match == "all" else 1
        return [count >= needed for count in counts]


def _rescored(connection: apsw.Connection, query_vector: Vector, found: Sequence[Found]) -> list[Found]:
    """With true similarities of the best; a memory that is not there any more is left out."""
    if not found:
        return []
    threshold = kth_largest(joined([each.scores for each in found]), RESCORED)
    leading: list[tuple[Places, list[int]]] = []
    for each in found:
        (places,) = (each.scores >= threshold).nonzero()
        leading.append((places, each.segment.documents.memory_ids[each.documents[places]].tolist()))
    exact = reads.similarities(connection, query_vector, [*chain(*(ids for _, ids in leading))])
    rescored: list[Found] = []
    for each, (places, ids) in zip(found, leading, strict=True):
        scores = each.scores.copy()
        scores[places] = [exact.get(memory_id, np.nan) for memory_id in ids]
        rescored.append(Found(each.segment, each.documents, scores).only(~np.isnan(scores)))
    return rescored


def _as_indexed(connection: apsw.Connection, terms: Sequence[str]) -> Sequence[str] | None:
    """The terms as the text index has them; None if it cuts one of them into several."""
    if all(map(str.isascii, terms)):
        return terms
    tokens = tokens_like(connection)
    cut = [tokens(term) for term in terms]
    return [each[0] for each in cut] if all(len(each) == 1 for each in cut) else None
