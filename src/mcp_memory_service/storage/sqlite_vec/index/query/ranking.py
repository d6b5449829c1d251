"""What was found in the segments of an index as one list, best first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .....hybrid_search.columns.candidates import Candidates
from .....hybrid_search.columns.digests import Digests
from ..format.columns import NO_SEQUENCE, NONE
from .reader import Segment
from .topk import last_of_best

Value = TypeVar("Value", np.float64, np.int64, np.int32, np.uint8)


@dataclass(frozen=True, slots=True)
class Found:
    """Documents of one segment with their scores."""

    segment: Segment
    documents: NDArray[np.intp]
    scores: NDArray[np.float64]

    def only(self, chosen: NDArray[np.bool_]) -> "Found":
        return Found(self.segment, self.documents[chosen], self.scores[chosen])


def best_of(found: Sequence[Found], limit: int) -> list[Found]:
    """The best `limit`, with all that are equal to the last of them."""
    found = [each for each in found if each.documents.size]
    if sum(each.scores.size for each in found) <= limit:
        return found
    least = last_of_best(_joined([each.scores for each in found]), limit)
    chosen = (each.only(each.scores >= least) for each in found)
    return [each for each in chosen if each.documents.size]


def ranked(found: Sequence[Found], limit: int, *, newest_first: bool = False) -> Candidates:
    """Of equal scores the newer first if asked for, then the smaller content_hash."""
    found = best_of(found, limit)
    if newest_first:
        found = _newest_of_equals(found, limit)
    if not found:
        return Candidates((), np.empty(0, np.int64), np.empty(0, np.float64))
    scores = _joined([each.scores for each in found])
    created_at = _joined([each.segment.documents.created_at[each.documents] for each in found])
    hashes = _joined([each.segment.documents.hashes[each.documents] for each in found])
    order = _order(scores, created_at if newest_first else None, hashes)[:limit]
    sessions, sequences = _places_in_sessions(found, order)
    return Candidates(Digests(hashes[order]), created_at[order], scores[order], sessions, sequences)


def _joined(columns: Sequence[NDArray[Value]]) -> NDArray[Value]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _newest_of_equals(found: list[Found], limit: int) -> list[Found]:
    """Of those that are equal to the last: a tag alone may give the same score to half of the store."""
    surplus = sum(each.scores.size for each in found) - limit
    if surplus <= 0:
        return found
    least = min(each.scores.min() for each in found)
    dates = np.concatenate([each.segment.documents.created_at[each.documents[each.scores == least]] for each in found])
    oldest = last_of_best(dates, dates.size - surplus)
    chosen = [
        each.only((each.scores > least) | (each.segment.documents.created_at[each.documents] >= oldest))
        for each in found
    ]
    return [each for each in chosen if each.documents.size]


def _order(
    scores: NDArray[np.float64], created_at: NDArray[np.int64] | None, hashes: NDArray[np.uint8]
) -> NDArray[np.intp]:
    order = np.argsort(-scores)
    in_order = scores[order]
    as_next = in_order[1:] == in_order[:-1]
    if as_next.any():  # equals fill the same places, in an order of their own
        tied = np.flatnonzero(np.append(as_next, np.False_) | np.append(np.False_, as_next))
        among = order[tied]
        words = np.ascontiguousarray(hashes[among]).view(">u8")
        dates = () if created_at is None else (-created_at[among],)
        order[tied] = among[np.lexsort((*words.T[::-1], *dates, -scores[among]))]
    return order


def _places_in_sessions(
    found: Sequence[Found], order: NDArray[np.intp]
) -> tuple[list[str | None] | None, list[int | None] | None]:
    if not any(each.segment.has_sessions for each in found):
        return None, None
    codes = _joined([each.segment.documents.sessions[each.documents] for each in found])[order]
    numbers = _joined([each.segment.documents.sequences[each.documents] for each in found])[order]
    sequences = None
    if (numbers != NO_SEQUENCE).any():
        sequences = [None if number == NO_SEQUENCE else number for number in cast("list[int]", numbers.tolist())]
    if (codes == NONE).all():
        return None, sequences
    part_of: list[int] = np.repeat(np.arange(len(found)), [each.documents.size for each in found])[order].tolist()
    sessions = [
        None if code == NONE else found[segment].segment.session(code)
        for segment, code in zip(part_of, cast("list[int]", codes.tolist()), strict=True)
    ]
    return sessions, sequences
