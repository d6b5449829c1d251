"""The signals, answered from an index. Words and tags give what the exact queries of reads.py give; of vectors, the
nearest do, and further down similarities are right to about 0.002."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....models import Candidates, MemoryFilter, QueryTerms, Vector
from .codes import about_the_least, differing_bits, similarities, unit_length
from .postings import NAME, TAG, WORD, Occurrences, bm25, rarity
from .ranking import Found, best_of, ranked
from .view import IndexView, Mask, Part, tag_term

LEAST_COMPARED = 1_000
COMPARED_PER_WANTED = 1.5
"""So many by their bits hold .999 of the true ten best of real sentences (bench/recall.py)."""
COMPARED_WITHOUT_BITS = 4_000
"""So few vectors are compared one by one at once."""
MEASURED_EXACTLY = 20
"""The best are measured by the stored vectors, so that the first pages are exact."""

TAG_DIGITS = 9
"""As in reads.py: equal sets of tags stay equal in whatever order they are summed."""

ExactSimilarities = Callable[[Sequence[int]], Mapping[int, float]]
"""From ids of memories to the cosines of their nearest windows, for those that are there."""
PhraseScores = Mapping[int, float]
"""What a phrase adds to the score of memories, by their ids."""


def nearest(
    view: IndexView, query_vector: Vector, limit: int, where: MemoryFilter, exactly: ExactSimilarities
) -> Candidates:
    masks = view.masks(where)
    if masks is None:
        return ranked((), limit)
    query = unit_length(query_vector[None])[0]
    code = view.quantizer.codes(query[None])[:, 0]
    wanted = max(LEAST_COMPARED, round(COMPARED_PER_WANTED * limit))
    while True:
        compared = [_compared(part, mask, query, code, wanted) for part, mask in zip(view.parts, masks, strict=True)]
        found = [_by_best_window(each) for each, _ in compared]
        if all(complete for _, complete in compared) or sum(each.documents.size for each in found) >= limit:
            break
        wanted *= 4  # windows of the same few memories took the places
    return ranked(_measured(best_of(found, limit), exactly), limit)


def matching(
    view: IndexView, terms: QueryTerms, phrases: Sequence[PhraseScores], limit: int, where: MemoryFilter
) -> Candidates:
    """`terms` as the text index cuts them; `phrases` are the scores of its phrases, one by one."""
    masks = view.masks(where)
    if masks is None:
        return ranked((), limit)
    scores = [np.zeros(len(part.documents), np.float64) for part in view.parts]
    # In the order in which FTS5 adds them up, so that sums are equal to the last bit.
    for word in terms.words:
        _add_term(view, scores, view.having(WORD, word))
    for phrase in phrases:
        _add_phrase(view.parts, scores, phrase)
    for name in terms.names:
        _add_term(view, scores, view.having(NAME, name))
    found = [
        _passing(part, mask, np.flatnonzero(sums), sums)
        for part, mask, sums in zip(view.parts, masks, scores, strict=True)
    ]
    return ranked(found, limit, newest_first=True)


def tagged(view: IndexView, weights: Mapping[str, float], limit: int, where: MemoryFilter) -> Candidates:
    masks = view.masks(where)
    if masks is None:
        return ranked((), limit)
    scores = [np.zeros(len(part.documents), np.float64) for part in view.parts]
    touched = [np.zeros(len(part.documents), np.bool_) for part in view.parts]
    for tag, weight in weights.items():
        having = view.having(TAG, tag_term(where.namespace, tag))
        for sums, seen, found in zip(scores, touched, having, strict=True):
            sums[found.documents] += weight
            seen[found.documents] = True
    best = [
        _passing(part, mask, np.flatnonzero(seen), sums).rounded(TAG_DIGITS)
        for part, mask, seen, sums in zip(view.parts, masks, touched, scores, strict=True)
    ]
    return ranked(best, limit, newest_first=True)


def word_rarities(view: IndexView, words: Iterable[str]) -> dict[str, float]:
    rarities: dict[str, float] = {}
    for word in words:
        in_text, in_names = view.having(WORD, word), view.having(NAME, word)
        having = sum(_in_either(a, b) for a, b in zip(in_text, in_names, strict=True))
        rarities[word] = max(0.0, math.log((view.documents - having + 0.5) / (having + 0.5)))
    return rarities


def _in_either(one: Occurrences, other: Occurrences) -> int:
    both = 0
    if one.documents.size and other.documents.size:
        both = np.intersect1d(one.documents, other.documents, assume_unique=True).size
    return one.documents.size + other.documents.size - both


def _compared(
    part: Part, mask: Mask | None, query: Vector, code: NDArray[np.uint64], wanted: int
) -> tuple[Found, bool]:
    """The vectors nearest to the query, as documents that may come several times, and whether these are all that there
    are."""
    windows = part.windows
    passing = None if mask is None else mask[windows.documents]
    there = len(windows) if passing is None else int(np.count_nonzero(passing))
    if there <= max(COMPARED_WITHOUT_BITS, wanted):
        rows = np.arange(there) if passing is None else np.flatnonzero(passing)
    else:
        differing = differing_bits(windows.codes, code)
        if passing is not None:
            differing[~passing] = np.iinfo(differing.dtype).max
        rows = about_the_least(differing, wanted)
    scores = similarities(windows.stored, windows.scales, rows, query).astype(np.float64)
    return Found(part, windows.documents[rows].astype(np.intp), scores), rows.size == there


def _by_best_window(found: Found) -> Found:
    """Each document once, with its best score."""
    if found.part.one_window_each:
        return found
    order = np.argsort(-found.scores, kind="stable")
    documents, first = np.unique(found.documents[order], return_index=True)
    return Found(found.part, documents, found.scores[order[first]])


def _measured(found: Sequence[Found], exactly: ExactSimilarities) -> list[Found]:
    """With the similarities of the best replaced by true ones; a memory that is not there any more is left out."""
    if not found:
        return []
    scores = np.concatenate([each.scores for each in found])
    place = max(0, scores.size - MEASURED_EXACTLY)
    least = np.partition(scores, place)[place]
    leading = [np.flatnonzero(each.scores >= least) for each in found]
    ids = [each.part.documents.memory_ids[each.documents[places]] for each, places in zip(found, leading, strict=True)]
    true = exactly(np.concatenate(ids).tolist())
    measured: list[Found] = []
    for each, places, of_places in zip(found, leading, ids, strict=True):
        scores = each.scores.copy()
        scores[places] = [true.get(memory_id, np.nan) for memory_id in of_places.tolist()]
        measured.append(Found(each.part, each.documents, scores).only(~np.isnan(scores)))
    return measured


def _add_term(view: IndexView, scores: Sequence[NDArray[np.float64]], having: Sequence[Occurrences]) -> None:
    idf = rarity(view.documents, sum(found.documents.size for found in having))
    for norms, sums, found in zip(view.norms, scores, having, strict=True):
        sums[found.documents] += bm25(found.frequencies, norms[found.documents], idf)


def _add_phrase(parts: Sequence[Part], scores: Sequence[NDArray[np.float64]], phrase: PhraseScores) -> None:
    ids = np.array(sorted(phrase), np.int64)
    for part, sums in zip(parts, scores, strict=True):
        places = part.places(ids)
        if part.alive is not None:
            places = places[part.alive[places]]
        sums[places] += [phrase[memory_id] for memory_id in part.documents.memory_ids[places].tolist()]


def _passing(part: Part, mask: Mask | None, documents: NDArray[np.intp], scores: NDArray[np.float64]) -> Found:
    passing = documents if mask is None else documents[mask[documents]]
    return Found(part, passing, scores[passing])
