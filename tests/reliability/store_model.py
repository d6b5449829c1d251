"""A store as plain dictionaries: what `storage/ports` promises, written a second time in the simplest way."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from mcp_memory_service.models import (
    UNSET,
    Edge,
    EmbeddedMemory,
    Feedback,
    JsonValue,
    Memory,
    MemoryFilter,
    MemoryPatch,
    Vector,
    content_hash,
    fold_tag,
    history_of,
    trash_of,
)

Key: TypeAlias = tuple[str, str]
"""Namespace and id; the history and the trash are namespaces."""


@dataclass
class StoreModel:
    items: dict[Key, EmbeddedMemory] = field(default_factory=dict[Key, EmbeddedMemory])
    edges: dict[Key, dict[tuple[str, str], Edge]] = field(default_factory=dict[Key, dict[tuple[str, str], Edge]])
    """Of each memory, by kind and target."""
    feedback: dict[Key, dict[str, Feedback]] = field(default_factory=dict[Key, dict[str, Feedback]])
    """Of each memory, by query."""

    def get(self, namespace: str, content_hash: str) -> Memory | None:
        item = self.items.get((namespace, content_hash))
        return item.memory if item else None

    # --- writing

    def store(self, items: Sequence[EmbeddedMemory]) -> list[tuple[Memory, bool]]:
        """The memories as they must be now, and whether they are new."""
        stored = [self._store(item) for item in items]
        for item in items:
            for old in item.supersedes:
                self._supersede(item.memory, old)
        return stored

    def _store(self, item: EmbeddedMemory) -> tuple[Memory, bool]:
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
            pinned=old.pinned or new.pinned,
            expires_at=old.expires_at if new.expires_at is None else new.expires_at,
        )
        self._change(old, united, new.updated_at)
        return self._memory(new), False

    def _supersede(self, new: Memory, old_id: str) -> None:
        if old_id != new.content_hash and self._move(new.namespace, history_of(new.namespace), old_id, new.updated_at):
            self.add_edges(new.namespace, [Edge(new.content_hash, old_id, "supersedes", by_name=False)])

    def update(
        self, namespace: str, old_id: str, patch: MemoryPatch, now: int, vectors: tuple[Vector, ...] = ()
    ) -> Memory | None:
        old = self.get(namespace, old_id)
        if old is None:
            return None
        patched = old
        if patch.tags is not None:
            patched = replace(patched, tags=_each_once(patch.tags))
        if patch.memory_type is not UNSET:
            patched = replace(patched, memory_type=patch.memory_type)
        if patch.metadata is not None:
            patched = replace(patched, metadata=_merged(patched.metadata, patch.metadata))
        if patch.pinned is not None:
            patched = replace(patched, pinned=patch.pinned)
        if patch.expires_at is not UNSET:
            patched = replace(patched, expires_at=patch.expires_at)
        if patch.content is None or content_hash(patch.content) == old_id:
            self._change(old, patched, now)
            return self._memory(old)
        new_id = content_hash(patch.content)
        new = replace(patched, content=patch.content, content_hash=new_id, updated_at=now, edited_at=now)
        return self._revise(old, EmbeddedMemory(new, vectors))

    def _revise(self, old: Memory, item: EmbeddedMemory) -> Memory:
        new = item.memory
        before, after = (old.namespace, old.content_hash), (new.namespace, new.content_hash)
        kept, _ = self._store(item)
        self._hand_on(before, after)
        self._supersede(new, old.content_hash)
        return kept

    def _hand_on(self, before: Key, after: Key) -> None:
        """What the heir has of its own counts for more than what it inherits."""
        edges, said = self.edges.pop(before, {}), self.feedback.pop(before, {})
        inherited = {key: replace(edge, from_id=after[1]) for key, edge in edges.items()}
        self.edges[after] = inherited | self.edges.get(after, {})
        handed_on = {query: replace(each, content_hash=after[1]) for query, each in said.items()}
        self.feedback[after] = handed_on | self.feedback.get(after, {})

    def delete(self, namespace: str, content_hash: str) -> bool:
        key = (namespace, content_hash)
        self.edges.pop(key, None)
        self.feedback.pop(key, None)
        return self.items.pop(key, None) is not None

    def trash(self, namespace: str, content_hash: str, now: int) -> bool:
        return self._move(namespace, trash_of(namespace), content_hash, now)

    def restore(self, namespace: str, content_hash: str, now: int) -> Memory | None:
        trashed = self.get(trash_of(namespace), content_hash)
        if trashed is None:
            return None
        if self.get(namespace, content_hash) is None:
            self._move(trash_of(namespace), namespace, content_hash, None)
        else:
            self._store(EmbeddedMemory(replace(trashed, namespace=namespace, updated_at=now), ()))
            self._hand_on((trash_of(namespace), content_hash), (namespace, content_hash))
            self.delete(trash_of(namespace), content_hash)
        return self.get(namespace, content_hash)

    def purge(self, namespace: str, content_hashes: Sequence[str]) -> tuple[str, ...]:
        """Returns those that were nowhere."""
        places = (namespace, history_of(namespace), trash_of(namespace))
        gone = {each: [self.delete(place, each) for place in places] for each in content_hashes}
        for (owner, _), edges in self.edges.items():
            for key in [key for key in edges if owner in places and key[1] in content_hashes]:
                del edges[key]
        return tuple(each for each, deleted in gone.items() if not any(deleted))

    def add_edges(self, namespace: str, edges: Sequence[Edge]) -> list[str]:
        """Returns the memories that are not there."""
        there = [edge for edge in edges if (namespace, edge.from_id) in self.items]
        for edge in there:
            self.edges.setdefault((namespace, edge.from_id), {})[edge.kind, edge.to] = edge
        return sorted({edge.from_id for edge in edges} - {edge.from_id for edge in there})

    def add_feedback(self, namespace: str, said: Feedback) -> bool:
        if (namespace, said.content_hash) not in self.items:
            return False
        self.feedback.setdefault((namespace, said.content_hash), {})[said.query] = said
        return True

    def _move(self, namespace: str, to: str, content_hash: str, ended_at: int | None) -> bool:
        """With all that belongs to it, in the place of one with the same id; False if it is not there."""
        before, after = (namespace, content_hash), (to, content_hash)
        item = self.items.get(before)
        if item is None:
            return False
        self.delete(*after)
        edges, said = self.edges.pop(before, {}), self.feedback.pop(before, {})
        self.delete(*before)
        self._put(replace(item.memory, namespace=to, ended_at=ended_at), item.vectors)
        self.edges[after], self.feedback[after] = edges, said
        return True

    # --- reading

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

    def ids(self, namespace: str, prefix: str) -> list[str]:
        return sorted(each for owner, each in self.items if owner == namespace and each.startswith(prefix))

    def all_edges(self, namespace: str) -> list[Edge]:
        return [edge for (owner, _), edges in self.edges.items() if owner == namespace for edge in edges.values()]

    def all_feedback(self, namespace: str) -> list[Feedback]:
        said = [
            each for (owner, _), by_query in self.feedback.items() if owner == namespace for each in by_query.values()
        ]
        return sorted(said, key=lambda each: each.created_at)

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
        and (where.pinned is None or memory.pinned is where.pinned)
        and (where.alive_at is None or not _over(memory.expires_at, where.alive_at))
        and (where.expired_by is None or _over(memory.expires_at, where.expired_by))
        and (where.as_of is None or _was_there(memory, where.as_of))
        and (where.ended_before is None or (memory.ended_at is not None and memory.ended_at < where.ended_before))
    )


def _over(end: int | None, moment: int) -> bool:
    return end is not None and end <= moment


def _was_there(memory: Memory, moment: int) -> bool:
    begun = memory.created_at <= moment and (memory.edited_at is None or memory.edited_at <= moment)
    return begun and not _over(memory.ended_at, moment) and not _over(memory.expires_at, moment)


def _cosine(one: Vector, other: Vector) -> float:
    a, b = one.astype(np.float64), other.astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
