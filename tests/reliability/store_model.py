"""A store as plain dictionaries: what `storage/base.py` promises, written a second time in the simplest way."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mcp_memory_service.models import (
    UNSET,
    EmbeddedMemory,
    JsonValue,
    Memory,
    MemoryFilter,
    MemoryPatch,
    Vector,
    fold_tag,
)


@dataclass
class StoreModel:
    items: dict[tuple[str, str], EmbeddedMemory] = field(default_factory=dict[tuple[str, str], EmbeddedMemory])

    def get(self, namespace: str, content_hash: str) -> Memory | None:
        item = self.items.get((namespace, content_hash))
        return item.memory if item else None

    def store(self, item: EmbeddedMemory) -> tuple[Memory, bool]:
        """The memory as it must be now, and whether it is new."""
        new = item.memory
        old = self.get(new.namespace, new.content_hash)
        if old is None:
            self._put(replace(new, tags=_each_once(new.tags)), item.vectors)
            return self._memory(new), True
        united = replace(
            old,
            tags=_each_once([*old.tags, *new.tags]),
            metadata=dict(old.metadata) | dict(new.metadata),
            memory_type=old.memory_type if new.memory_type is None else new.memory_type,
            source=new.source if old.source is None else old.source,
            session=new.session if old.session is None else old.session,
            sequence=new.sequence if old.sequence is None else old.sequence,
        )
        self._change(old, united, new.updated_at)
        return self._memory(new), False

    def update(self, namespace: str, content_hash: str, patch: MemoryPatch, now: int) -> Memory | None:
        old = self.get(namespace, content_hash)
        if old is None:
            return None
        patched = old
        if patch.tags is not None:
            patched = replace(patched, tags=_each_once(patch.tags))
        if patch.memory_type is not UNSET:
            patched = replace(patched, memory_type=patch.memory_type)
        if patch.metadata is not None:
            patched = replace(patched, metadata=_merged(patched.metadata, patch.metadata))
        self._change(old, patched, now)
        return self._memory(old)

    def delete(self, namespace: str, content_hash: str) -> bool:
        return self.items.pop((namespace, content_hash), None) is not None

    def matching(self, where: MemoryFilter) -> list[EmbeddedMemory]:
        """In the order of a listing: newest first, the id breaks ties."""
        found = [item for item in self.items.values() if _passes(item.memory, where)]
        return sorted(found, key=lambda item: (-item.memory.created_at, item.memory.content_hash))

    def similarities(self, query: Vector, where: MemoryFilter) -> dict[str, float]:
        """Of each memory that passes, the cosine of its nearest window."""
        return {
            item.memory.content_hash: max(_cosine(query, window) for window in item.vectors)
            for item in self.matching(where)
        }

    def tag_scores(self, weights: Mapping[str, float], where: MemoryFilter) -> dict[str, float]:
        return {
            item.memory.content_hash: sum(weights.get(tag, 0.0) for tag in folded_tags(item.memory))
            for item in self.matching(where)
            if folded_tags(item.memory) & weights.keys()
        }

    def neighbours(self, content_hashes: Iterable[str], where: MemoryFilter) -> dict[str, tuple[str, int]]:
        """The place of each memory beside one of these in its session."""
        origins = [self.get(where.namespace, content_hash) for content_hash in content_hashes]
        places = {
            (origin.session, origin.sequence + step)
            for origin in origins
            if origin and origin.session is not None and origin.sequence is not None
            for step in (-1, 1)
        }
        return {
            item.memory.content_hash: (item.memory.session, item.memory.sequence)
            for item in self.matching(where)
            if item.memory.session is not None and item.memory.sequence is not None
            if (item.memory.session, item.memory.sequence) in places
        }

    def tag_counts(self, namespace: str) -> Counter[str]:
        return Counter(tag for item in self.matching(MemoryFilter(namespace)) for tag in folded_tags(item.memory))

    def _memory(self, same: Memory) -> Memory:
        return self.items[same.namespace, same.content_hash].memory

    def _put(self, memory: Memory, vectors: tuple[Vector, ...]) -> None:
        self.items[memory.namespace, memory.content_hash] = EmbeddedMemory(memory, vectors)

    def _change(self, old: Memory, new: Memory, now: int) -> None:
        """What changes nothing leaves the date as well."""
        if not same_memory(old, new):
            key = (old.namespace, old.content_hash)
            self.items[key] = replace(self.items[key], memory=replace(new, updated_at=now))


def same_memory(one: Memory | None, other: Memory | None) -> bool:
    """Equal in all, and in metadata also as JSON, where 1 and true differ."""
    if one is None or other is None:
        return one is other
    return one == other and json.dumps(one.metadata, sort_keys=True) == json.dumps(other.metadata, sort_keys=True)


def folded_tags(memory: Memory) -> set[str]:
    return {fold_tag(tag) for tag in memory.tags}


def _each_once(tags: Sequence[str]) -> tuple[str, ...]:
    """The first spelling of each stays."""
    folded = [fold_tag(tag) for tag in tags]
    return tuple(tag for place, tag in enumerate(tags) if folded[place] not in folded[:place])


def _merged(old: Mapping[str, JsonValue], patch: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A JSON merge patch as in the pseudo-code of RFC 7396."""
    result = dict(old)
    for key, value in patch.items():
        before = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = _merged(before if isinstance(before, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def _passes(memory: Memory, where: MemoryFilter) -> bool:
    tags = folded_tags(memory)
    asked = set(where.tags)
    has_tags = asked <= tags if where.tag_match == "all" else bool(asked & tags)
    return (
        memory.namespace == where.namespace
        and (not asked or has_tags)
        and (not where.types or memory.memory_type in where.types)
        and (where.after is None or memory.created_at >= where.after)
        and (where.before is None or memory.created_at < where.before)
        and (where.scope is None or f"{memory.source}/".startswith(where.scope.rstrip("/") + "/"))
        and (not where.kinds or memory.kind in where.kinds)
    )


def _cosine(one: Vector, other: Vector) -> float:
    a, b = one.astype(np.float64), other.astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
