"""Brings a collection of version 1 up to date: its memories have no kind, and do not say which scopes they are in.

Page by page, each in one request, what has no kind is given one last: after an interruption, opening goes on with the
rest. Services of the older version must be stopped before, for what they store has no kind.
"""

from collections.abc import Sequence
from typing import Any

from qdrant_client import models

from ...models import scope_roots
from .collection import SCHEMA_VERSION, Pinned, note_version
from .connection import QdrantConnection
from .filters import equals
from .points import MEMORY, payload_of
from .queries.reads import PAGE


async def brought_up_to_date(connection: QdrantConnection, pinned: Pinned) -> Pinned:
    if pinned.schema_version >= SCHEMA_VERSION:
        return pinned
    without_kind = models.Filter(
        must=[equals("kind", MEMORY), models.IsEmptyCondition(is_empty=models.PayloadField(key="memory_kind"))]
    )
    while True:
        records, _ = await connection.scroll(without_kind, ["source"], PAGE)
        if not records:
            return await note_version(connection, pinned)
        operations = _operations(records)
        await connection.call(
            lambda client, operations=operations: client.batch_update_points(
                connection.collection, operations, wait=True, ordering=connection.write_ordering
            )
        )


def _operations(records: Sequence[models.Record]) -> list[models.UpdateOperation]:
    by_source: dict[str, list[models.ExtendedPointId]] = {}
    for record in records:
        source = payload_of(record).get("source")
        if source is not None:
            by_source.setdefault(source, []).append(record.id)
    fields: list[tuple[dict[str, Any], list[models.ExtendedPointId]]]
    fields = [({"source_prefixes": scope_roots(source)}, ids) for source, ids in by_source.items()]
    fields.append(({"memory_kind": "memory"}, [record.id for record in records]))
    return [
        models.SetPayloadOperation(set_payload=models.SetPayload(payload=payload, points=ids))
        for payload, ids in fields
    ]
