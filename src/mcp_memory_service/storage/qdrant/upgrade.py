"""Brings a collection of an older version up to date.

Memories of version 1 have no kind and do not say which scopes they are in; those of version 2 are found neither by the
first digits of their ids nor by their metadata. Page by page, each in one request, they are given all of it: after an
interruption, opening goes on with the rest. What another service has written meanwhile has it already and is left
alone. Services of an older version must be stopped before, for what they store has none of it.
"""

import json

from qdrant_client import models

from ...models import scope_roots
from .collection import SCHEMA_VERSION, Pinned, note_version
from .connection import QdrantConnection
from .filters import equals, point_with
from .points import MEMORY, found_by, payload_of

# A memory may have 65,536 characters of metadata, which is sent twice more, as it is looked up.
PAGE = 50


async def brought_up_to_date(connection: QdrantConnection, pinned: Pinned) -> Pinned:
    if pinned.schema_version >= SCHEMA_VERSION:
        return pinned
    incomplete = models.Filter(
        must=[equals("kind", MEMORY), models.IsEmptyCondition(is_empty=models.PayloadField(key="found_by"))]
    )
    fields = ["content_hash", "memory_kind", "source", "metadata", "revision"]
    while True:
        records, _ = await connection.scroll(incomplete, fields, PAGE)
        if not records:
            return await note_version(connection, pinned)
        operations = [_completion(record) for record in records]
        await connection.call(
            lambda client, operations=operations: client.batch_update_points(
                connection.collection, operations, wait=True, ordering=connection.write_ordering
            )
        )


def _completion(record: models.Record) -> models.UpdateOperation:
    payload = payload_of(record)
    completed = {
        "memory_kind": payload.get("memory_kind", "memory"),
        "found_by": found_by(payload["content_hash"], json.loads(payload["metadata"])),
    }
    if payload.get("source") is not None:
        completed["source_prefixes"] = scope_roots(payload["source"])
    as_seen = point_with(str(record.id), "revision", payload["revision"])
    return models.SetPayloadOperation(set_payload=models.SetPayload(payload=completed, filter=as_seen))
