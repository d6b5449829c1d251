"""What becomes of a stored memory when it is stored again, patched or replaced; pure, so that every backend agrees."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ..errors import InvalidInput
from ..models import (
    MAX_METADATA_CHARS,
    MAX_NAMES,
    MAX_TAGS,
    UNSET,
    Edge,
    EmbeddedMemory,
    JsonValue,
    Memory,
    MemoryPatch,
    SourceRecord,
    content_hash,
    fold_tag,
    json_chars,
)


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
        anchor=existing.anchor or incoming.anchor,
        names=unite_names((*existing.names, *incoming.names)),
        pinned=existing.pinned or incoming.pinned,
        expires_at=_united_expiry(existing, incoming),
    )
    _check_limits(united)
    return existing if _same(united, existing) else replace(united, updated_at=incoming.updated_at)


def _united_expiry(existing: Memory, incoming: Memory) -> int | None:
    """What had expired and is stored again begins anew."""
    begins_anew = incoming.expires_at is not None or _has_expired(existing, incoming.updated_at)
    return incoming.expires_at if begins_anew else existing.expires_at


def _has_expired(memory: Memory, now: int) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def first_form(memory: Memory) -> Memory:
    """A memory that is new as it is stored."""
    return replace(memory, tags=unite_tags(memory.tags), names=unite_names(memory.names))


def replaced(existing: Memory, incoming: Memory) -> Memory:
    """The existing memory as its source has it now, with the times of the source; unchanged if it says the same."""
    now = replace(first_form(incoming), content=existing.content)
    return existing if _same(now, existing) else now


def source_items(
    namespace: str, source: str, items: Sequence[EmbeddedMemory], edges: Sequence[Edge], record: SourceRecord | None
) -> dict[str, EmbeddedMemory]:
    """What a source consists of, by id; a text that stands at one place twice is one memory with the names of both."""
    check_record(source, record)
    by_id: dict[str, EmbeddedMemory] = {}
    for item in items:
        memory = item.memory
        if memory.kind == "memory" or (memory.namespace, memory.source) != (namespace, source):
            raise InvalidInput(
                f"{memory.content_hash} is a plain memory or not one of the source {source!r}.",
                reason="memory_of_another_source",
            )
        before = by_id.get(memory.content_hash)
        by_id[memory.content_hash] = replace(before, memory=unite(before.memory, memory)) if before else item
    check_edges(source, by_id, edges)
    return by_id


def check_edges(source: str, ids: Collection[str], edges: Sequence[Edge]) -> None:
    """`ids` are those of the memories of the source."""
    if strange := {edge.from_id for edge in edges}.difference(ids):
        raise InvalidInput(
            f"Edges start at {min(strange)}, which is no memory of the source {source!r}.",
            reason="edge_of_another_source",
        )


def check_record(source: str, record: SourceRecord | None) -> None:
    if record is not None and record.source != source:
        raise InvalidInput(f"The record is of {record.source!r}, not of {source!r}.", reason="record_of_another_source")


def edges_by_origin(edges: Iterable[Edge]) -> dict[str, list[Edge]]:
    """The edges of each memory in their order; of two with one key, the later one counts."""
    by_key = {edge.key: edge for edge in edges}
    by_origin: dict[str, list[Edge]] = {}
    for key in sorted(by_key):
        by_origin.setdefault(by_key[key].from_id, []).append(by_key[key])
    return by_origin


def apply_patch(existing: Memory, patch: MemoryPatch, now: int) -> Memory:
    """The memory after a patch; unchanged if the patch asks for what is there already."""
    assert not isinstance(patch.expires_at, str), "the service has read it"
    patched = replace(
        existing,
        tags=_patched_tags(existing.tags, patch),
        memory_type=existing.memory_type if patch.memory_type is UNSET else patch.memory_type,
        metadata=existing.metadata if patch.metadata is None else merge_patch(existing.metadata, patch.metadata),
        pinned=existing.pinned if patch.pinned is None else patch.pinned,
        expires_at=existing.expires_at if patch.expires_at is UNSET else patch.expires_at,
    )
    if patch.content is not None:
        patched = _with_content(patched, patch.content, now)
    _check_limits(patched)
    return existing if _same(patched, existing) else replace(patched, updated_at=now)


def _patched_tags(tags: Sequence[str], patch: MemoryPatch) -> tuple[str, ...]:
    removed = set(map(fold_tag, patch.remove_tags))
    kept = [tag for tag in (tags if patch.tags is None else patch.tags) if fold_tag(tag) not in removed]
    return unite_tags((*kept, *patch.add_tags))


def _with_content(memory: Memory, content: str, now: int) -> Memory:
    """The next version; the memory itself if only space around the text differs."""
    if memory.kind != "memory":
        raise InvalidInput(
            f"{memory.content_hash} comes from {memory.source or 'a source'}: change it there.",
            reason="content_of_a_source",
            field="content",
        )
    new_id = content_hash(content)
    if new_id == memory.content_hash:
        return memory
    return replace(memory, content=content, content_hash=new_id, edited_at=now)


def edit_joining(existing: Memory, edited: Memory) -> Memory:
    """An edit as it is united with a memory that has its new text already: what that one says of itself stays."""
    return replace(
        edited,
        memory_type=existing.memory_type or edited.memory_type,
        expires_at=edited.expires_at if _has_expired(existing, edited.updated_at) else existing.expires_at,
    )


def patched_id(old_id: str, patch: MemoryPatch) -> str:
    """The id that a memory has after a patch."""
    return old_id if patch.content is None else content_hash(patch.content)


def superseded(new_id: str, old_id: str) -> Edge:
    """How a memory says what it took the place of."""
    return Edge(new_id, old_id, "supersedes", by_name=False)


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
    if len(memory.names) > MAX_NAMES:
        raise InvalidInput(
            f"With the names that are there already it would have {len(memory.names)} names: at most {MAX_NAMES}.",
            reason="too_many_names",
            field="names",
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


def unite_names(names: Iterable[str]) -> tuple[str, ...]:
    """An ordered set; names are compared as they are written."""
    return tuple(dict.fromkeys(names))


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
