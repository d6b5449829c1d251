"""The best of what a search found, and the newest of many equals where it was cut in the middle of them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from qdrant_client import models

from ....hybrid_search import best_first
from ....models import Candidate
from ..connection import QdrantConnection
from ..filters import equals
from ..points import CANDIDATE_FIELDS, Payload, candidate_from, payload_of
from .reads import by_time

# Of a short list each place counts; the searches of the service ask for 250 and more.
MIN_FETCHED = 300
MAX_BEYOND_LIMIT = 5000

# Of memories that score alike and were created in the same microsecond, as by an import, so many are looked at.
MAX_OF_ONE_MOMENT = 1000
# The server counts in single precision: equal memories may differ in the last digits.
ROUNDING = 1e-5

Score = Callable[[Payload], float]


class Scored(NamedTuple):
    """A candidate with the payload that our own score was made from, and the server's score."""

    candidate: Candidate
    payload: Payload
    server_score: float


class SparseSearch(NamedTuple):
    """A search by weighted dimensions, scored anew by `score` from the named fields."""

    vector: models.SparseVector
    using: str
    where: models.Filter
    fields: Sequence[str]
    score: Score
    breadth: float
    """How many times as many as wanted are fetched, for the server's order is not quite ours."""
    alike: Callable[[Sequence[Scored]], models.Filter] | None = None
    """All memories that score like these, which score alike, as a filter; without it, all that the search may find."""


async def leading(connection: QdrantConnection, search: SparseSearch, limit: int) -> list[Scored]:
    """The first `limit` by our own score, then newest first.

    The server orders by weights in single precision and leaves open which of many equals it sends: more are fetched
    than asked for, and if the cut falls among equals, the newest of them are fetched too.
    """
    fetched = max(MIN_FETCHED, min(limit + MAX_BEYOND_LIMIT, round(limit * search.breadth)))
    answer = await connection.call(
        lambda client: client.query_points(
            connection.collection,
            query=search.vector,
            using=search.using,
            query_filter=search.where,
            limit=fetched,
            with_payload=[*CANDIDATE_FIELDS, *search.fields],
            consistency=connection.read_consistency,
        )
    )
    # Hundreds of texts are looked through: the event loop goes on meanwhile.
    scored = (_scored(payload_of(point), search.score, point.score) for point in answer.points)
    best = await asyncio.to_thread(ranked, scored)
    if len(answer.points) == fetched:
        cut = _cut_equals(best, limit, lowest=answer.points[-1].score)
        if cut:
            alike = search.alike(cut) if search.alike else search.where
            best = ranked([*best, *await _newest(connection, search, alike, limit)])
    return best[:limit]


def ranked(found: Iterable[Scored]) -> list[Scored]:
    """By score, then newest first, each once; what scores nothing was found by mistake."""
    by_id = {scored.candidate.content_hash: scored for scored in found if scored.candidate.score > 0}
    return sorted(by_id.values(), key=lambda scored: best_first(scored.candidate))


def _cut_equals(best: Sequence[Scored], limit: int, lowest: float) -> list[Scored]:
    """Those at the limit that score alike and as low as the last that was sent: more of them may not have been sent."""
    if not best:
        return []
    last_score = best[:limit][-1].candidate.score
    return [
        scored
        for scored in best
        if scored.candidate.score == last_score and scored.server_score <= lowest + abs(lowest) * ROUNDING
    ]


async def _newest(connection: QdrantConnection, search: SparseSearch, alike: models.Filter, limit: int) -> list[Scored]:
    """The newest of those that score alike, and all that are as old as the last of them: ids decide among these."""
    fields = [*CANDIDATE_FIELDS, *search.fields]
    records = await by_time(connection, alike, fields, limit)
    if len(records) == limit:
        last_moment = equals("created_at", payload_of(records[-1])["created_at"])
        of_one_moment = models.Filter(must=[alike, last_moment])
        records += await by_time(connection, of_one_moment, fields, MAX_OF_ONE_MOMENT)
    return [_scored(payload_of(record), search.score, 0.0) for record in records]


def _scored(payload: Payload, score: Score, server_score: float) -> Scored:
    return Scored(candidate_from(payload, score(payload)), payload, server_score)
