"""What becomes of memories: their history, the trash, and changes of all that pass a filter."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import CountChanged, InvalidInput, MemoryNotFound
from ..models import (
    Memory,
    MemoryFilter,
    MemoryPage,
    MemoryPatch,
    fold_tag,
    history_of,
    is_main,
    main_namespace,
    trash_of,
)
from ..storage.ports import Store
from ..timestamps import MICROSECONDS_PER_DAY
from .ids import Ids
from .outcomes import BulkOutcome
from .write import checks

MAX_VERSIONS = 1_000
"""Of one memory that a history goes back."""
MAX_MERGED = 10_000
"""Memories that two listings are merged of."""
PART = 250
"""Memories that are read at once where all of a filter are."""


class Life:
    def __init__(self, storage: Store, namespace: str, now: Callable[[], int], trash_days: int) -> None:
        self._storage = storage
        self._namespace = namespace
        self._now = now
        self._trash_microseconds = trash_days * MICROSECONDS_PER_DAY
        self._ids = Ids(storage, namespace)
        self._places = (namespace, history_of(namespace), trash_of(namespace))

    @property
    def trashed_at(self) -> int | None:
        """For `MemoryWrites.delete`."""
        return self._now() if self._trash_microseconds else None

    async def history(self, asked: str) -> list[Memory]:
        """All versions of a memory and all that they took the place of, the one that holds now first, then the latest.
        If none holds any more, those that are left."""
        history = history_of(self._namespace)
        try:
            current = await self._ids.current(asked)
        except MemoryNotFound:
            current = await self._ids.one_in(history, asked)
            if current is None:
                raise
        versions = {current.content_hash: replace(current, namespace=self._namespace)}
        newest = await self._storage.edges_from(current.namespace, [current.content_hash], ["supersedes"])
        while newest and len(versions) < MAX_VERSIONS:
            earlier = dict.fromkeys(edge.to for edges in newest.values() for edge in edges if edge.to not in versions)
            found = await self._storage.get_many(history, list(earlier))
            versions |= {memory.content_hash: replace(memory, namespace=self._namespace) for memory in found}
            newest = await self._storage.edges_from(history, list(earlier), ["supersedes"]) if found else {}
        first, *others = versions.values()
        return [first, *sorted(others, key=lambda memory: (-(memory.ended_at or 0), memory.content_hash))]

    async def with_versions(self, asked: Sequence[str]) -> list[str]:
        """The whole ids of these memories, whether or not they are there, and of all their versions, earlier and later
        ones, in the trash as well."""
        found = dict.fromkeys([await self._anywhere(each) for each in asked])
        newest = list(found)
        while newest:
            connected: dict[str, None] = {}
            for place in self._places:
                earlier = await self._storage.edges_from(place, newest, ["supersedes"])
                later = await self._storage.edges_to(place, newest, ["supersedes"])
                connected |= dict.fromkeys(edge.to for edges in earlier.values() for edge in edges)
                connected |= dict.fromkeys(edge.from_id for edges in later.values() for edge in edges)
            newest = [each for each in connected if each not in found]
            found |= dict.fromkeys(newest)
        return list(found)

    async def _anywhere(self, asked: str) -> str:
        """The id in the namespace, its history or its trash; as it was asked for if it is in none."""
        for namespace in self._places:
            memory = await self._ids.one_in(namespace, asked)
            if memory:
                return memory.content_hash
        return asked

    async def list_with_history(self, where: MemoryFilter, offset: int, limit: int) -> MemoryPage:
        """What was superseded among all others, newest first."""
        if offset + limit > MAX_MERGED:
            raise InvalidInput(
                f"With what was superseded, a listing shows the newest {MAX_MERGED} memories.",
                reason="page_out_of_range",
                field="page",
            )
        live = await self._storage.list_memories(where, 0, offset + limit)
        past = await self._storage.list_memories(
            replace(where, namespace=history_of(where.namespace)), 0, offset + limit
        )
        found = [*live.memories, *(replace(memory, namespace=where.namespace) for memory in past.memories)]
        found.sort(key=lambda memory: (-memory.created_at, memory.ended_at is not None, memory.content_hash))
        return MemoryPage(tuple(found[offset : offset + limit]), live.total + past.total)

    async def restore(self, asked: str) -> Memory:
        trashed = await self._ids.one_in(trash_of(self._namespace), asked)
        restored = trashed and await self._storage.restore(self._namespace, trashed.content_hash, self._now())
        if not restored:
            raise MemoryNotFound(asked)
        return restored

    async def empty_trash(self) -> int:
        """Delete for good what has been in the trash of any namespace for longer than it is kept; returns how much."""
        before = self._now() - self._trash_microseconds
        emptied = 0
        for namespace in await self._storage.namespaces():
            if namespace == trash_of(main_namespace(namespace)):
                for content_hash in await self.matching(MemoryFilter(namespace, ended_before=before)):
                    emptied += await self._storage.delete(namespace, content_hash)
        return emptied

    async def matching(self, where: MemoryFilter) -> list[str]:
        """The ids of all memories that pass a filter."""
        ids: list[str] = []
        while True:
            page = await self._storage.list_memories(where, len(ids), PART)
            ids += [memory.content_hash for memory in page.memories]
            if len(page.memories) < PART:
                return ids

    async def delete_matching(self, where: MemoryFilter, expected: int | None) -> BulkOutcome:
        """Without the number that the caller expects, nothing is deleted: the answer is what would be."""
        ids = self._confirmed(await self.matching(where), expected)
        if expected is None:
            return BulkOutcome(len(ids), 0, ids)
        trashed_at = self.trashed_at
        deleted = [await self._storage.delete(self._namespace, each, trashed_at=trashed_at) for each in ids]
        return BulkOutcome(len(ids), sum(deleted), ids)

    async def retag_matching(
        self, where: MemoryFilter, add: Sequence[str], remove: Sequence[str], expected: int | None
    ) -> BulkOutcome:
        """Likewise, with tags that come and go."""
        added, removed = checks.checked_tags(add), set(map(fold_tag, checks.checked_tags(remove)))
        if not added and not removed:
            raise InvalidInput("Name tags to add or to remove.", reason="no_tags_given", field="add_tags")
        ids = self._confirmed(await self.matching(where), expected)
        changed = 0
        for start in range(0, len(ids) if expected is not None else 0, PART):
            for memory in await self._storage.get_many(self._namespace, ids[start : start + PART]):
                kept = tuple(tag for tag in memory.tags if fold_tag(tag) not in removed)
                patch = MemoryPatch(tags=(*kept, *added))
                after = await self._storage.update(self._namespace, memory.content_hash, patch, self._now())
                changed += after is not None and after.tags != memory.tags
        return BulkOutcome(len(ids), changed, ids)

    @staticmethod
    def _confirmed(ids: Sequence[str], expected: int | None) -> tuple[str, ...]:
        if expected is not None and expected != len(ids):
            raise CountChanged(len(ids), expected)
        return tuple(ids)


def main_namespaces(namespaces: Sequence[str]) -> list[str]:
    """Those that are no history and no trash."""
    return [namespace for namespace in namespaces if is_main(namespace)]
