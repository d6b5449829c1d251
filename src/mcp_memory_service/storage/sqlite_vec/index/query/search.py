"""The signals, answered from an index. Words and tags give what the exact queries of reads.py give; of vectors, the
nearest do, and further down similarities are right to about 0.002."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .....hybrid_search.columns.candidates import Candidates
from .....models import MemoryFilter, QueryTerms, Vector
from ..format.postings import NAME, TAG, WORD, Occurrences, bm25, most_of_bm25, rarity
from ..format.quantization import nearest_codes, similarities, unit_length
from .maxscore import Rule, Term, best_sums
from .ranking import Found, best_of, ranked
from .reader import IndexReader, Mask, Segment, tag_term
from .topk import found_in, last_of_best

MIN_COMPARED = 1_000
COMPARED_PER_WANTED = 1.5
"""By their bits, for each one that is wanted; recall@10 is in docs/benchmarks.md."""
COMPARED_WITHOUT_BITS = 4_000
"""So few vectors are compared one by one at once."""
MEASURED_EXACTLY = 20
"""The best are measured by the stored vectors, so that the first pages are exact."""

NEXT_TO_NOTHING = 1e-12
"""What is found is found, also by a tag without weight; rounding makes it nothing again."""
TAG_DIGITS = 9
"""As in reads.py: equal sets of tags stay equal in whatever order they are summed."""
TAG_BLUR = 10.0**-TAG_DIGITS

ExactSimilarities = Callable[[Sequence[int]], Mapping[int, float]]
"""From ids of memories to the cosines of their nearest chunks, for those that are there."""
PhraseScores = Mapping[int, float]
"""What a phrase adds to the score of memories, by their ids."""


def nearest(
    reader: IndexReader, query_vector: Vector, limit: int, where: MemoryFilter, exactly: ExactSimilarities
) -> Candidates:
    masks = reader.masks(where)
    if masks is None:
        return ranked((), limit)
    query = unit_length(query_vector[None])[0]
    code = reader.quantizer.codes(query[None])[:, 0]
    wanted = max(MIN_COMPARED, round(COMPARED_PER_WANTED * limit))
    while True:
        compared = [
            _compared(segment, mask, query, code, wanted) for segment, mask in zip(reader.segments, masks, strict=True)
        ]
        found = [_by_best_chunk(each) for each, _ in compared]
        if all(complete for _, complete in compared) or sum(each.documents.size for each in found) >= limit:
            break
        wanted *= 4  # chunks of the same few memories took the places
    return ranked(_measured(best_of(found, max(limit, MEASURED_EXACTLY)), exactly), limit)


def matching(
    reader: IndexReader, terms: QueryTerms, phrases: Sequence[PhraseScores], limit: int, where: MemoryFilter
) -> Candidates:
    """`terms` as the text index cuts them; `phrases` are the scores of its phrases, one by one."""
    masks = reader.masks(where)
    if masks is None or not (terms or phrases):
        return ranked((), limit)
    rules = [_bm25_rule(norms) for norms in reader.norms]
    # In the order in which FTS5 adds them up.
    by_part = list(zip(*(
        *(_word_terms(reader, reader.having(WORD, word), rules) for word in terms.words),
        *(_phrase_terms(reader.segments, phrase) for phrase in phrases),
        *(_word_terms(reader, reader.having(NAME, name), rules) for name in terms.names),
    ), strict=True))  # fmt: skip
    found: list[Found] = []
    for segment, mask, part_terms in zip(reader.segments, masks, by_part, strict=True):
        found.append(Found(segment, *best_sums(part_terms, len(segment.documents), mask, limit)))
    return ranked(found, limit, newest_first=True)


def tagged(reader: IndexReader, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Candidates:
    masks = reader.masks(where)
    if masks is None:
        return ranked((), limit)
    having = {tag: reader.having(TAG, tag_term(where.namespace, tag)) for tag in weights}
    best: list[Found] = []
    for number, (segment, mask) in enumerate(zip(reader.segments, masks, strict=True)):
        terms = [_tag_term(having[tag][number], weight) for tag, weight in weights.items()]
        documents, sums = best_sums(terms, len(segment.documents), mask, limit, TAG_BLUR)
        best.append(Found(segment, documents, np.round(sums, TAG_DIGITS)))
    return ranked(best, limit, newest_first=True)


def inverse_document_frequencies(reader: IndexReader, words: Iterable[str]) -> dict[str, float]:
    rarities: dict[str, float] = {}
    for word in words:
        in_text, in_names = reader.having(WORD, word), reader.having(NAME, word)
        having = sum(_in_either(a, b) for a, b in zip(in_text, in_names, strict=True))
        rarities[word] = max(0.0, math.log((reader.documents - having + 0.5) / (having + 0.5)))
    return rarities


def _in_either(one: Occurrences, other: Occurrences) -> int:
    fewer, more = sorted((one, other), key=len)
    in_both, _ = found_in(more.documents, fewer.documents)
    return len(one) + len(other) - in_both.size


def _compared(
    segment: Segment, mask: Mask | None, query: Vector, code: NDArray[np.uint64], wanted: int
) -> tuple[Found, bool]:
    """The vectors nearest to the query, as documents that may come several times, and whether these are all that there
    are."""
    chunks = segment.chunks
    passing = mask if mask is None or segment.one_chunk_each else mask[chunks.documents]
    there = len(chunks) if passing is None else int(np.count_nonzero(passing))
    if there <= max(COMPARED_WITHOUT_BITS, wanted):
        rows = np.arange(there) if passing is None else np.flatnonzero(passing)
    else:
        rows = nearest_codes(chunks.codes, code, wanted, passing)
    scores = similarities(chunks.stored, chunks.scales, rows, query).astype(np.float64)
    return Found(segment, chunks.documents[rows].astype(np.intp), scores), rows.size == there


def _by_best_chunk(found: Found) -> Found:
    """Each document once, with its best score."""
    if found.segment.one_chunk_each:
        return found
    order = np.argsort(-found.scores, kind="stable")
    documents, first = np.unique(found.documents[order], return_index=True)
    return Found(found.segment, documents, found.scores[order[first]])


def _measured(found: Sequence[Found], exactly: ExactSimilarities) -> list[Found]:
    """With the similarities of the best replaced by true ones; a memory that is not there any more is left out."""
    if not found:
        return []
    scores = np.concatenate([each.scores for each in found])
    least = last_of_best(scores, MEASURED_EXACTLY)
    leading = [np.flatnonzero(each.scores >= least) for each in found]
    ids = [
        each.segment.documents.memory_ids[each.documents[places]] for each, places in zip(found, leading, strict=True)
    ]
    true = exactly(np.concatenate(ids).tolist())
    measured: list[Found] = []
    for each, places, of_places in zip(found, leading, ids, strict=True):
        scores = each.scores.copy()
        scores[places] = [true.get(memory_id, np.nan) for memory_id in of_places.tolist()]
        measured.append(Found(each.segment, each.documents, scores).only(~np.isnan(scores)))
    return measured


def _bm25_rule(norms: NDArray[np.float64]) -> Rule:
    return lambda documents, often, idf: bm25(often, norms[documents], idf)


def _word_terms(reader: IndexReader, having: Sequence[Occurrences], rules: Sequence[Rule]) -> list[Term]:
    """A word or a name, for each segment."""
    idf = rarity(reader.documents, sum(map(len, having)))
    return [Term(found, idf, most_of_bm25(idf), rule) for found, rule in zip(having, rules, strict=True)]


def _phrase_terms(segments: Sequence[Segment], phrase: PhraseScores) -> list[Term]:
    ids = np.array(sorted(phrase), np.int64)
    return [_phrase_term(segment, segment.places(ids), phrase) for segment in segments]


def _phrase_term(segment: Segment, places: NDArray[np.intp], phrase: PhraseScores) -> Term:
    places = np.sort(places if segment.live is None else places[segment.live[places]])
    scores = np.array([phrase[memory_id] for memory_id in segment.documents.memory_ids[places].tolist()], np.float64)
    # In place of how often it comes: where its score is.
    found = Occurrences(places, np.arange(places.size))
    bound = float(scores.max(initial=NEXT_TO_NOTHING))
    return Term(found, 1.0, bound, lambda _, numbers, weight: weight * scores[numbers.astype(np.intp)])


def _tag_term(found: Occurrences, weight: float) -> Term:
    share = max(weight, NEXT_TO_NOTHING)
    return Term(found, share, share, _carried)


def _carried(
    documents: NDArray[np.intp], _often: NDArray[np.float64], weight: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    return np.broadcast_to(np.asarray(weight, np.float64), documents.shape)
