"""What becomes of a stored memory when it is stored again or patched; pure, so that every backend agrees."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..errors import InvalidInput
from ..models import MAX_METADATA_CHARS, MAX_TAGS, UNSET, JsonValue, Memory, MemoryPatch, fold_tag, json_chars


def unite(existing: Memory, incoming: Memory) -> Memory:
    """The existing memory after the same content came in again; unchanged if the newcomer brings nothing new."""
    united = replace(
        existing,
        tags=unite_tags((*existing.tags, *incoming.tags)),
        metadata={**existing.metadata, **incoming.metadata},
        memory_type=incoming.memory_type or existing.memory_type,
        source=existing.source or incoming.source,
        session=existing.session or incoming.session,
        sequence=incoming.sequence if existing.sequence is None else existing.sequence,
    )
    _check_limits(united)
    return existing if _same(united, existing) else replace(united, updated_at=incoming.updated_at)


def apply_patch(existing: Memory, patch: MemoryPatch, now: int) -> Memory:
    """The memory after a patch; unchanged if the patch asks for what is there already."""
    patched = replace(
        existing,
        tags=existing.tags if patch.tags is None else unite_tags(patch.tags),
        memory_type=existing.memory_type if patch.memory_type is UNSET else patch.memory_type,
        metadata=existing.metadata if patch.metadata is None else merge_patch(existing.metadata, patch.metadata),
    )
    _check_limits(patched)
    return existing if _same(patched, existing) else replace(patched, updated_at=now)


def _same(one: Memory, other: Memory) -> bool:
    """Equal also as JSON, where 1, 1.0 and true differ."""
    return one == other and json.dumps(one.metadata) == json.dumps(other.metadata)


def _check_limits(memory: Memory) -> None:
    """What is united step by step keeps the limits of what is stored at once."""
    if len(memory.tags) > MAX_TAGS:
        raise InvalidInput(
            f"With the tags that are there already it would have {len(memory.tags)} tags: at most {MAX_TAGS}.",
            reason="too_many_tags",
            field="tags",
        )
    if json_chars(memory.metadata) > MAX_METADATA_CHARS:
        raise InvalidInput(
            f"With what is there already metadata would be larger than {MAX_METADATA_CHARS} characters.",
            reason="metadata_too_large",
            field="metadata",
        )


def unite_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """An ordered set: the first spelling of each tag stays."""
    by_folded: dict[str, str] = {}
    for tag in tags:
        by_folded.setdefault(fold_tag(tag), tag)
    return tuple(by_folded.values())


def merge_patch(target: Mapping[str, JsonValue], patch: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """RFC 7396: objects merge key by key, null removes, everything else replaces."""
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            current = merged.get(key)
            merged[key] = merge_patch(current if isinstance(current, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged
