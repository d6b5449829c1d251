"""The tag signal: memories by the summed weights of the tags they carry."""

from collections.abc import Mapping

from qdrant_client import models

from ...models import Candidate, MemoryFilter
from .connection import QdrantConnection
from .filters import equals, passing
from .leading import SparseSearch, leading
from .points import TAGS, Payload, tag_vector


async def tagged(
    connection: QdrantConnection, weights: Mapping[str, float], limit: int, where: MemoryFilter
) -> list[Candidate]:
    def score(payload: Payload) -> float:
        # Rounded, so that equal sets of tags stay equal in whatever order they are summed.
        return round(sum(weights.get(tag, 0.0) for tag in payload["tag_keys"]), 9)

    def shape_of(payload: Payload) -> models.Filter:
        carried = set(payload["tag_keys"]) & weights.keys()
        return passing(
            where,
            *(equals("tag_keys", tag) for tag in sorted(carried)),
            none_of=[equals("tag_keys", tag) for tag in sorted(weights.keys() - carried)],
        )

    if not weights:
        return []
    search = SparseSearch(tag_vector(weights), TAGS, passing(where), ("tag_keys",), score, shape_of)
    return [scored.candidate for scored in await leading(connection, search, limit)]
