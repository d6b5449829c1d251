"""What is known of sources, in the points that number their replacements; see `writes/sources.py`."""

import json
from typing import Any

from qdrant_client import models

from ....models import SourceRecord, scope_root, scope_roots
from ..connection import QdrantConnection
from ..filters import equals
from ..points import SOURCE, Payload, payload_of
from .reads import scrolled

OPEN = ""
"""The fingerprint of a source that is being changed, or was when somebody was interrupted: no file has it."""


def record_payload(record: SourceRecord | None) -> dict[str, Any]:
    """None takes the place of a record that is to be forgotten."""
    if record is None:
        return {"fingerprint": None, "details": None}
    # As text, as metadata is: numbers come back as they went in.
    details = json.dumps(record.details, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return {
        "source": record.source,
        "source_prefixes": scope_roots(record.source),
        "fingerprint": record.fingerprint,
        "details": details,
    }


async def list_sources(
    connection: QdrantConnection, namespace: str, scope: str | None, *, details: bool
) -> list[SourceRecord]:
    conditions = [equals("kind", SOURCE), equals("scope", namespace)]
    if scope is not None:
        conditions.append(equals("source_prefixes", scope_root(scope)))
    unknown = models.IsEmptyCondition(is_empty=models.PayloadField(key="fingerprint"))
    known = models.Filter(must=list(conditions), must_not=[unknown])
    fields = ["source", "fingerprint", *(["details"] if details else [])]
    found = [_record_from(payload_of(record)) async for record in scrolled(connection, known, fields)]
    return sorted(found, key=lambda record: record.source)


def _record_from(payload: Payload) -> SourceRecord:
    return SourceRecord(payload["source"], payload["fingerprint"], json.loads(payload.get("details", "{}")))
