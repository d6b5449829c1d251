"""The keys by which a request that is sent again is known; pure."""

import hashlib
import json

from ...models import UNSET, IdempotencyKey, JsonValue, MemoryPatch
from . import checks


def update_key(key: str | None, content_hash: str, patch: MemoryPatch, now: int) -> IdempotencyKey | None:
    """None if the caller sent no key."""
    asked: dict[str, JsonValue] = {"operation": "update", "content_hash": content_hash, "patch": _given(patch)}
    return _request_key(key, asked, now)


def delete_key(key: str | None, content_hash: str, now: int) -> IdempotencyKey | None:
    """None if the caller sent no key."""
    return _request_key(key, {"operation": "delete", "content_hash": content_hash}, now)


def _request_key(key: str | None, asked: JsonValue, now: int) -> IdempotencyKey | None:
    if key is None:
        return None
    checks.check_idempotency_key(key)
    return IdempotencyKey(_digest(key), _digest(json.dumps(asked, sort_keys=True, separators=(",", ":"))), now)


def _given(patch: MemoryPatch) -> dict[str, JsonValue]:
    """What the patch names: a type that is removed differs from one that is left."""
    given: dict[str, JsonValue] = {}
    if patch.tags is not None:
        given["tags"] = patch.tags
    if patch.memory_type is not UNSET:
        given["memory_type"] = patch.memory_type
    if patch.metadata is not None:
        given["metadata"] = patch.metadata
    if patch.content is not None:
        given["content"] = patch.content
    if patch.pinned is not None:
        given["pinned"] = patch.pinned
    if patch.expires_at is not UNSET:
        given["expires_at"] = patch.expires_at
    return given


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
