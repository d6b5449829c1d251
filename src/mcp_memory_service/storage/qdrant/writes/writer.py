"""The changes. Qdrant has no transactions: a write names the state that it replaces, and looks whether it took effect.

A new memory is only inserted, never written over another; a changed one only replaces the revision that was read. If
somebody else was faster, the write does nothing, and is made anew from what is there now. So no writer loses what
another one added, and a request whose answer was lost can be sent again.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import uuid4

from qdrant_client import models

from ....backoff import backoff
from ....errors import BackendUnavailable, BatchIncomplete, InvalidInput, StorageFull, StorageUnavailable
from ....models import EmbeddedMemory, Memory, StoreOutcome, Vector, json_chars
from ...merging import first_form, unite
from ...ports import TextAnalyzer
from ..connection import QdrantConnection
from ..filters import any_of, equals, point_with
from ..points import (
    FEEDBACK,
    PROBE,
    TAG_LIST,
    Attached,
    Payload,
    attached_from,
    attached_payload,
    memory_from,
    memory_id,
    memory_point,
    other_id,
    payload_of,
    revision_payload,
)
from ..queries.reads import retrieved, vectors_of

# One request holds at most so many memories and about so many bytes; Qdrant refuses more than 32 MB.
CHUNK_MEMORIES = 100
CHUNK_BYTES = 4_000_000
BYTES_PER_NUMBER = 22

# So many of the last revisions of a memory are kept: a write that was written over before it looked finds itself there.
KEPT_REVISIONS = 8

# Each round one of the writers of a point succeeds: so many at once is more than there will be.
MAX_ROUNDS = 100
FIRST_PAUSE_SECONDS = 0.01
MAX_PAUSE_SECONDS = 0.05


# What becomes of each memory of a batch, by point and by its number in the batch: equal ones share a point.
Planned: TypeAlias = dict[str, dict[int, StoreOutcome]]


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory as it was read, with the names of its last states (newest first) and of the write that made it."""

    memory: Memory
    vectors: tuple[Vector, ...] | None
    """None if they were not asked for: then the memory itself cannot be changed."""
    revisions: tuple[str, ...]
    birth: str
    attached: Attached

    @classmethod
    def of(cls, record: models.Record) -> "Stored":
        payload, found = payload_of(record), vectors_of(record)
        vectors = found if len(found) == payload["windows"] else None
        return cls(memory_from(payload), vectors, tuple(payload["revisions"]), payload["birth"], attached_from(payload))


@dataclass(frozen=True, slots=True)
class Change:
    """What a memory shall become."""

    seen: Stored | None
    memory: Memory
    vectors: Sequence[Vector] | None
    """None only where the memory stays as it is."""
    attached: Attached

    @property
    def point_id(self) -> str:
        return memory_id(self.memory.namespace, self.memory.content_hash)

    @property
    def keeps_memory(self) -> bool:
        """Whether only what is attached to it changes; merging returns the old memory itself when nothing does."""
        return self.seen is not None and self.memory is self.seen.memory and not self._adds_vectors

    @property
    def _adds_vectors(self) -> bool:
        return self.seen is not None and self.seen.vectors == () and bool(self.vectors)

    @property
    def changes_tags(self) -> bool:
        return self.memory.tags != (self.seen.memory.tags if self.seen else ())

    @property
    def rough_bytes(self) -> int:
        """As JSON: the text twice (as it is and as words), the metadata three times (as it is and as it is looked up),
        and each number of a vector."""
        text = 2 * len(self.memory.content.encode()) + 3 * json_chars(dict(self.memory.metadata))
        return text + sum(vector.size for vector in self.vectors or ()) * BYTES_PER_NUMBER


class Writer:
    def __init__(self, connection: QdrantConnection, analyze: TextAnalyzer) -> None:
        self._connection = connection
        self._analyze = analyze

    async def store(self, items: Sequence[EmbeddedMemory]) -> list[StoreOutcome]:
        birth = uuid4().hex
        outcomes: dict[int, StoreOutcome] = {}
        try:
            async for _ in rounds():
                open_items = {number: item for number, item in enumerate(items) if number not in outcomes}
                planned, changes = _plan(open_items, await self.existing(list(open_items.values())), birth)
                _settle(outcomes, planned, planned.keys() - {change.point_id for change in changes})
                for chunk in chunks(changes):
                    not_taken = await self.write(chunk, birth)
                    # What is settled stays known, whatever happens to the next chunk.
                    _settle(outcomes, planned, {change.point_id for change in chunk} - not_taken)
                if len(outcomes) == len(items):
                    break
        except (StorageUnavailable, StorageFull, InvalidInput) as error:
            if not outcomes:
                raise
            raise BatchIncomplete([number in outcomes for number in range(len(items))], error.message) from error
        return [outcomes[number] for number in range(len(items))]

    async def add_vectors(self, items: Sequence[EmbeddedMemory]) -> int:
        """To the memories that are there and have none; of two for one memory, the first counts."""
        open_items = {memory_id(item.memory.namespace, item.memory.content_hash): item for item in reversed(items)}
        added = 0
        async for _ in rounds():
            seen = await self.existing(list(open_items.values()))
            changes = [
                Change(each, each.memory, open_items[point_id].vectors, each.attached)
                for point_id, each in seen.items()
                if each.vectors == ()
            ]
            not_taken: set[str] = set()
            for chunk in chunks(changes):
                not_taken |= await self.write(chunk, birth="")
            added += len(changes) - len(not_taken)
            open_items = {point_id: open_items[point_id] for point_id in not_taken}
            if not open_items:
                break
        return added

    async def delete(self, namespace: str, content_hash: str) -> bool:
        records = await retrieved(self._connection, namespace, [content_hash], ["tags", "birth"])
        if not records:
            return False
        payload = payload_of(records[0])
        await self.delete_born(namespace, content_hash, payload["birth"], tagged=bool(payload["tags"]))
        return True

    async def delete_born(self, namespace: str, content_hash: str, birth: str, *, tagged: bool) -> None:
        """Names the birth of what it deletes: sent again, it leaves a memory alone that was stored anew meanwhile."""
        point_id = memory_id(namespace, content_hash)
        await self.delete_points(namespace, [point_id], point_with(point_id, "birth", birth), tagged=tagged)

    async def delete_points(self, namespace: str, ids: list[str], where: models.Filter, *, tagged: bool) -> None:
        """Delete the memories among these that pass the filter, and the feedback about all of them."""
        about_them = models.Filter(must=[equals("kind", FEEDBACK), any_of("memory_id", ids)])
        operations = [deletion(where), deletion(about_them)]
        await self.send([*operations, *([new_tag_list(namespace)] if tagged else [])])

    async def look_at(self, *places: tuple[str, str]) -> list[Stored | None]:
        """Memories as they are now, by namespace and id."""
        ids = [memory_id(*place) for place in places]
        found = await self._points(ids)
        return [found.get(point_id) for point_id in ids]

    async def touch(self) -> None:
        """A true write, of a point that stands for nothing."""
        await self.send([payload_upsert(other_id(PROBE), {"kind": PROBE, "scope": ""})])

    async def existing(self, items: Sequence[EmbeddedMemory]) -> dict[str, Stored]:
        """Those of these memories that are there, by point."""
        return await self._points([memory_id(item.memory.namespace, item.memory.content_hash) for item in items])

    async def _points(self, ids: Sequence[str]) -> dict[str, Stored]:
        records = await self._connection.points(list(dict.fromkeys(ids)), True, vectors=True)
        return {str(record.id): Stored.of(record) for record in records}

    async def write(self, changes: Sequence[Change], birth: str) -> set[str]:
        """Write what still is as it was seen; returns the ids of those that were not."""
        revision = uuid4().hex
        # Beside the event loop: a long text takes a tenth of a second to be cut into words.
        await self.send(await asyncio.to_thread(self._operations, changes, revision, birth))
        return await self.not_taken(changes, revision)

    def _operations(self, changes: Sequence[Change], revision: str, birth: str) -> list[models.UpdateOperation]:
        new = [self._point(change, revision, birth) for change in changes if change.seen is None]
        known = [change for change in changes if change.seen is not None and not change.keeps_memory]
        operations: list[models.UpdateOperation] = []
        if new:
            operations.append(_upsert(new, models.UpdateMode.INSERT_ONLY))
        if known:
            points = [self._point(change, revision, birth) for change in known]
            operations.append(_upsert(points, models.UpdateMode.UPDATE_ONLY, _as_seen(known)))
        # Without its vectors: the server need not put it into its indexes again.
        operations += [_attachment(change, revision) for change in changes if change.keeps_memory]
        # After the memories, so that who sees the new version sees the new tags.
        namespaces = {change.memory.namespace for change in changes if change.changes_tags}
        return [*operations, *(new_tag_list(namespace) for namespace in sorted(namespaces))]

    async def not_taken(self, changes: Sequence[Change], revision: str) -> set[str]:
        ids = [change.point_id for change in changes]
        records = await self._connection.points(ids, ["revisions"])
        taken = {str(record.id) for record in records if revision in payload_of(record)["revisions"]}
        return set(ids) - taken

    def _point(self, change: Change, revision: str, birth: str) -> models.PointStruct:
        memory, seen = change.memory, change.seen
        assert change.vectors is not None, "who changes a memory has read its vectors"
        text = self._analyze(memory.content, memory.labels)
        revisions = _revisions(revision, seen)
        return memory_point(memory, change.vectors, text, revisions, seen.birth if seen else birth, change.attached)

    async def send(self, operations: Sequence[models.UpdateOperation]) -> None:
        results = await self._connection.call(
            lambda client: client.batch_update_points(
                self._connection.collection, operations, wait=True, ordering=self._connection.write_ordering
            )
        )
        if any(result.status != models.UpdateStatus.COMPLETED for result in results):
            raise BackendUnavailable("Qdrant took a change but has not carried it out yet; try again.")


async def rounds() -> AsyncGenerator[int, None]:
    """Attempts at a write that another writer may win, with a backoff between them."""
    pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
    for number in range(MAX_ROUNDS):
        if number:
            await asyncio.sleep(next(pauses))
        yield number
    raise StorageUnavailable("Too many writers change the same thing at once; try again.")


def _plan(
    items: Mapping[int, EmbeddedMemory], existing: Mapping[str, Stored], birth: str
) -> tuple[Planned, list[Change]]:
    """What becomes of each item, by point, and what has to be written for it. Bad input raises before anything is."""
    planned: Planned = {}
    changes: dict[str, Change] = {}
    for number, item in items.items():
        point_id = memory_id(item.memory.namespace, item.memory.content_hash)
        seen = existing.get(point_id)
        before = changes.get(point_id) or seen
        current = before.memory if before else None
        memory = first_form(item.memory) if current is None else unite(current, item.memory)
        # Ours was inserted in an earlier round, and more was added since than is kept of its revisions.
        created = current is None or (point_id not in planned and seen is not None and seen.birth == birth)
        planned.setdefault(point_id, {})[number] = StoreOutcome(memory, created)
        takes_vectors = before is None or before.vectors == ()
        if memory is not current or (takes_vectors and item.vectors):
            vectors = item.vectors if before is None or takes_vectors else before.vectors
            changes[point_id] = Change(seen, memory, vectors, seen.attached if seen else Attached())
    return planned, list(changes.values())


def _settle(outcomes: dict[int, StoreOutcome], planned: Planned, ids: set[str]) -> None:
    for point_id in ids:
        outcomes.update(planned[point_id])


def chunks(changes: Sequence[Change]) -> Iterator[list[Change]]:
    chunk: list[Change] = []
    size = 0
    for change in changes:
        if chunk and (len(chunk) >= CHUNK_MEMORIES or size + change.rough_bytes > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(change)
        size += change.rough_bytes
    if chunk:
        yield chunk


def _revisions(revision: str, seen: Stored | None) -> list[str]:
    return [revision, *(seen.revisions if seen else ())][:KEPT_REVISIONS]


def _attachment(change: Change, revision: str) -> models.UpdateOperation:
    payload = attached_payload(change.attached) | revision_payload(_revisions(revision, change.seen))
    return models.SetPayloadOperation(set_payload=models.SetPayload(payload=payload, filter=_as_seen([change])))


def deletion(where: models.Filter) -> models.UpdateOperation:
    return models.DeleteOperation(delete=models.FilterSelector(filter=where))


def _as_seen(changes: Sequence[Change]) -> models.Filter:
    """Matches each point only in the revision that was read, which no later one has as its newest."""
    seen = [(change.point_id, change.seen) for change in changes if change.seen]
    return models.Filter(should=[point_with(point_id, "revision", each.revisions[0]) for point_id, each in seen])


def payload_upsert(
    point_id: str, payload: Payload, mode: models.UpdateMode | None = None, condition: models.Filter | None = None
) -> models.UpsertOperation:
    """Of a point that has no vectors."""
    return _upsert([models.PointStruct(id=point_id, vector={}, payload=dict(payload))], mode, condition)


def _upsert(
    points: list[models.PointStruct], mode: models.UpdateMode | None, condition: models.Filter | None = None
) -> models.UpsertOperation:
    return models.UpsertOperation(upsert=models.PointsList(points=points, update_mode=mode, update_filter=condition))


def new_tag_list(namespace: str) -> models.UpsertOperation:
    """Tells every process that the tags of a namespace may have changed: a number that is never used twice."""
    payload = {"kind": TAG_LIST, "scope": namespace, "version": secrets.randbits(53)}
    return payload_upsert(other_id(TAG_LIST, namespace), payload)
