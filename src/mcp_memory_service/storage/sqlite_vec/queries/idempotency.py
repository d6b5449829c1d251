"""Requests that may have a key: one that has is carried out and noted in one transaction, and so not carried out
twice."""

from collections.abc import Sequence

import apsw

from ....errors import IdempotencyKeyReused
from ....models import IdempotencyKey, Memory, MemoryPatch, Vector
from ...merging import patched_id
from ...ports import KEYS_KEPT_MICROSECONDS, TextAnalyzer
from ..rows import find_memory
from .writes import delete_memory, patch_memory, trash_memory


def patch(
    connection: apsw.Connection,
    namespace: str,
    content_hash: str,
    change: MemoryPatch,
    now: int,
    analyze: TextAnalyzer,
    key: IdempotencyKey | None,
    vectors: Sequence[Vector],
) -> Memory | None:
    if _first_outcome(connection, namespace, key) is not None:
        ids = (patched_id(content_hash, change), content_hash)
        found = next(filter(None, (find_memory(connection, namespace, each) for each in ids)), None)
        return found[1] if found else None
    patched = patch_memory(connection, namespace, content_hash, change, now, analyze, vectors)
    if patched is not None:
        _note(connection, namespace, key, found_memory=True)
    return patched


def delete(
    connection: apsw.Connection,
    namespace: str,
    content_hash: str,
    key: IdempotencyKey | None,
    trashed_at: int | None,
) -> bool:
    outcome = _first_outcome(connection, namespace, key)
    if outcome is None:
        outcome = (
            delete_memory(connection, namespace, content_hash)
            if trashed_at is None
            else trash_memory(connection, namespace, content_hash, trashed_at)
        )
        _note(connection, namespace, key, found_memory=outcome)
    return outcome


def _first_outcome(connection: apsw.Connection, namespace: str, key: IdempotencyKey | None) -> bool | None:
    """Whether the first request with this key found its memory; None if this is the first, or has no key."""
    if key is None:
        return None
    forgotten = key.received_at - KEYS_KEPT_MICROSECONDS
    connection.execute("DELETE FROM idempotency_keys WHERE received_at <= ?", (forgotten,))
    row = connection.execute(
        "SELECT fingerprint, found_memory FROM idempotency_keys WHERE namespace = ? AND key = ?", (namespace, key.key)
    ).fetchone()
    if row is None:
        return None
    fingerprint, found_memory = row
    if fingerprint != key.fingerprint:
        raise IdempotencyKeyReused
    return bool(found_memory)


def _note(connection: apsw.Connection, namespace: str, key: IdempotencyKey | None, *, found_memory: bool) -> None:
    if key is None:
        return
    connection.execute(
        "INSERT INTO idempotency_keys (namespace, key, fingerprint, received_at, found_memory) VALUES (?, ?, ?, ?, ?)",
        (namespace, key.key, key.fingerprint, key.received_at, int(found_memory)),
    )
