"""The tag signal: memories by the summed weights of the tags they carry."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from qdrant_client import models

from ....models import Candidate, MemoryFilter
from ..connection import QdrantConnection
from ..filters import equals, passing
from ..points import TAGS, Payload, sparse_vector
from .top_candidates import Scored, SparseSearch, leading

# Up to so many tags, every set of them is tried for a sum; with more, only sets that were seen.
MAX_COMBINED = 10
# The server adds up the same weights; only its rounding, and tags that fall on one number, differ.
BREADTH = 1.1


async def search_by_tag(
    connection: QdrantConnection, weights: Mapping[str, float], limit: int, where: MemoryFilter
) -> list[Candidate]:
    def score(payload: Payload) -> float:
        return _sum(weights, payload["tag_keys"])

    def alike(found: Sequence[Scored]) -> models.Filter:
        carried = {frozenset(weights.keys() & set(scored.payload["tag_keys"])) for scored in found}
        if len(weights) <= MAX_COMBINED:
            carried.update(_sets_of(weights, found[0].candidate.score))
        return passing(where, one_of=[_exactly(tags, weights) for tags in sorted(carried, key=sorted)])

    if not weights:
        return []
    search = SparseSearch(sparse_vector(weights), TAGS, passing(where), ("tag_keys",), score, BREADTH, alike)
    return [scored.candidate for scored in await leading(connection, search, limit)]


def _sum(weights: Mapping[str, float], tags: Sequence[str]) -> float:
    """Rounded, so that equal sets of tags stay equal in whatever order they are summed."""
    return round(sum(weights.get(tag, 0.0) for tag in tags), 9)


def _sets_of(weights: Mapping[str, float], score: float) -> Iterator[frozenset[str]]:
    """All sets of tags with this sum."""
    for size in range(1, len(weights) + 1):
        for tags in combinations(weights, size):
            if _sum(weights, tags) == score:
                yield frozenset(tags)


def _exactly(tags: frozenset[str], weights: Mapping[str, float]) -> models.Filter:
    """Memories that carry all of these tags and none of the others that were asked for."""
    return models.Filter(
        must=[equals("tag_keys", tag) for tag in sorted(tags)],
        must_not=[equals("tag_keys", tag) for tag in sorted(weights.keys() - tags)],
    )
