"""What becomes of memories: their history, the trash, and changes of all that pass a filter."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import CountChanged, InvalidInput, MemoryNotFound
from ..models import KINDS_OF_FILES, IdempotencyKey, Memory, MemoryFilter, MemoryPage, MemoryPatch, history_of, trash_of
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
        self.has_trash = trash_days > 0
        self._ids = Ids(storage, namespace)
        self._history = history_of(namespace)
        self._places = (namespace, self._history, trash_of(namespace))

    async def history(self, asked: str) -> list[Memory]:
        """All versions of a memory and all that they took the place of, the one that holds now first, then the latest.
        If none holds any more, those that are left."""
        try:
            current = await self._ids.current(asked)
        except MemoryNotFound:
            left = [await self._ids.one_in(place, asked) for place in (trash_of(self._namespace), self._history)]
            current = next(filter(None, left), None)
            if current is None:
                raise
        earlier = await self._earlier([current.content_hash])
        others = await self._storage.get_many(self._history, [each for each in earlier if each != current.content_hash])
        others.sort(key=lambda memory: (-(memory.ended_at or 0), memory.content_hash))
        return [replace(memory, namespace=self._namespace) for memory in [current, *others][:MAX_VERSIONS]]

    async def _earlier(self, ids: Sequence[str]) -> dict[str, None]:
        """What these memories took the place of, directly or not, wherever they are."""
        found: dict[str, None] = {}
        newest = list(ids)
        while newest:
            edges = [await self._storage.edges_from(place, newest, ["supersedes"]) for place in self._places]
            targets = dict.fromkeys(edge.to for by_origin in edges for each in by_origin.values() for edge in each)
            newest = [each for each in targets if each not in found]
            found |= targets
        return found

    async def with_versions(self, asked: Sequence[str]) -> list[str]:
        """The whole ids of these memories, whether or not they are there, and of all that they took the place of and
        that does not hold again. What took their place stays: who corrects a secret may purge what it was."""
        found = dict.fromkeys([await self._anywhere(each) for each in asked])
        earlier = await self._earlier(list(found))
        again = {memory.content_hash for memory in await self._storage.get_many(self._namespace, list(earlier))}
        return [*found, *(each for each in earlier if each not in found and each not in again)]

    async def _anywhere(self, asked: str) -> str:
        """The id in the namespace, its history or its trash; as it was asked for if it is in none."""
        for namespace in self._places:
            memory = await self._ids.one_in(namespace, asked)
            if memory:
                return memory.content_hash
        return asked.lower()

    async def _own_versions(self, content_hash: str) -> list[str]:
        """What a memory took the place of, and nothing else did: that goes for good when the memory does."""
        earlier = await self._earlier([content_hash])
        kept: dict[str, None] = {}
        for place in self._places:
            edges = await self._storage.edges_to(place, list(earlier), ["supersedes"])
            for old, leading in edges.items():
                if any(edge.from_id not in earlier and edge.from_id != content_hash for edge in leading):
                    kept[old] = None
        kept |= await self._earlier(list(kept))
        return [each for each in earlier if each not in kept]

    async def _delete_for_good(self, namespace: str, content_hash: str, key: IdempotencyKey | None = None) -> bool:
        """With its own versions, which come last: interrupted, they are left, and can be found and purged."""
        versions = await self._own_versions(content_hash)
        deleted = await self._storage.delete(namespace, content_hash, key)
        for each in versions:
            await self._storage.delete(self._history, each)
        return deleted

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

    async def to_delete(self, asked: str) -> Memory:
        """Sent twice, a deletion must not go on to what superseded the memory earlier."""
        found = await self._ids.one_in(self._namespace, asked)
        if found is None and await self._ids.one_in(trash_of(self._namespace), asked):
            raise MemoryNotFound(asked)
        found = found or await self._ids.current(asked)
        if found.kind in KINDS_OF_FILES:
            raise InvalidInput(
                f"{found.short_id} comes from {found.source}: change or delete it there and index it again, or take it"
                " out with mcp-memory index --forget.",
                reason="content_of_a_source",
            )
        return found

    async def delete(self, memory: Memory, key: IdempotencyKey | None) -> bool:
        """True if it was there; into the trash, if there is one."""
        if self.has_trash:
            return await self._storage.delete(self._namespace, memory.content_hash, key, trashed_at=self._now())
        return await self._delete_for_good(self._namespace, memory.content_hash, key)

    async def trashed(self, asked: str) -> Memory | None:
        """A memory that can be brought back, by its id or by that of an earlier version."""
        trash = trash_of(self._namespace)
        found = await self._ids.one_in(trash, asked)
        past = None if found else await self._ids.one_in(self._history, asked)
        if past:
            edges = await self._storage.edges_to(trash, [past.content_hash], ["supersedes"])
            ids = [edge.from_id for leading in edges.values() for edge in leading]
            found = next(iter(await self._storage.get_many(trash, ids)), None)
        return found if found and (found.ended_at or 0) >= self._now() - self._trash_microseconds else None

    async def restore(self, asked: str) -> Memory:
        trashed = await self.trashed(asked)
        restored = trashed and await self._storage.restore(self._namespace, trashed.content_hash, self._now())
        if not restored:
            raise MemoryNotFound(asked)
        return restored

    async def empty_trash(self) -> int:
        """Delete for good what has been in the trash for longer than it is kept; returns how much."""
        before, trash = self._now() - self._trash_microseconds, trash_of(self._namespace)
        emptied = 0
        for content_hash in await self.matching(MemoryFilter(trash, ended_before=before)):
            found = await self._storage.get_many(trash, [content_hash])
            # Restored and deleted again meanwhile, it has its days once more.
            if found and (found[0].ended_at or 0) < before:
                emptied += await self._delete_for_good(trash, content_hash)
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
        deleted = 0
        for start in range(0, len(ids), PART):
            for memory in await self._storage.get_many(self._namespace, ids[start : start + PART]):
                deleted += await self.delete(memory, key=None)
        return BulkOutcome(len(ids), deleted, ids)

    async def retag_matching(
        self, where: MemoryFilter, add: Sequence[str], remove: Sequence[str], expected: int | None
    ) -> BulkOutcome:
        """Likewise, with tags that come and go."""
        patch = MemoryPatch(add_tags=checks.checked_tags(add), remove_tags=checks.checked_tags(remove))
        if not patch.add_tags and not patch.remove_tags:
            raise InvalidInput("Name tags to add or to remove.", reason="no_tags_given", field="add_tags")
        ids = self._confirmed(await self.matching(where), expected)
        if expected is None:
            return BulkOutcome(len(ids), 0, ids)
        changed, now = 0, self._now()
        for content_hash in ids:
            try:
                after = await self._storage.update(self._namespace, content_hash, patch, now)
            except InvalidInput as error:
                told = f"{changed} of {len(ids)} memories are changed, then {content_hash}: {error.message}"
                raise InvalidInput(told, reason=error.code, field=error.field) from error
            changed += after is not None and after.updated_at == now
        return BulkOutcome(len(ids), changed, ids)

    @staticmethod
    def _confirmed(ids: Sequence[str], expected: int | None) -> tuple[str, ...]:
        if expected is not None and expected != len(ids):
            raise CountChanged(len(ids), expected)
        return tuple(ids)
