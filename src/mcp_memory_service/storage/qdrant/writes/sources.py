"""Replacing all that came from one source, and edges that are added to what is there.

Each replacement of a source takes a number, higher than all before. It writes the number into every memory that the
source has now, and then deletes those that have a lower one than the newest replacement: its own too, if another one
has begun since. So of several at once the last one wins, in whatever order their requests arrive, and one that was
interrupted leaves nothing that the next one does not clear away.

What is known of the source stands in the point that has the number, and is written last, unless another change has
begun since, which its token tells. Until then it says that the source is open: who is interrupted leaves it so, and the
source is read again. New edges alone take a token and no number, for they replace no memory, and do not close what a
replacement has left open.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple
from uuid import uuid4

from qdrant_client import models

from ....models import Edge, EmbeddedMemory, MemoryFilter, SourceOutcome, SourceRecord
from ...merging import check_edges, edges_by_origin, first_form, replaced
from ..connection import QdrantConnection
from ..filters import any_of, equals, passing, point_with
from ..points import SOURCE, Attached, edge_target, memory_id, other_id, payload_of
from ..queries.graph import parts_of
from ..queries.reads import retrieved, scrolled
from ..queries.sources import OPEN, record_payload
from .writer import CHUNK_MEMORIES, Change, Stored, Writer, chunks, payload_upsert, rounds


class SourceState(NamedTuple):
    """What the point of a source says."""

    generation: int = 0
    """The number of the newest replacement."""
    token: str = ""
    """Names the newest change."""
    is_listed: bool = False
    """Whether it has a record, or is open and shall have one."""
    is_half_replaced: bool = False
    """Whether a replacement with a record has begun, and not ended yet."""


class SourceWriter:
    def __init__(self, connection: QdrantConnection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    async def replace_source(
        self,
        namespace: str,
        source: str,
        items: Mapping[str, EmbeddedMemory],
        edges: Sequence[Edge],
        record: SourceRecord | None,
    ) -> SourceOutcome:
        """`items` by their ids."""
        begun = await self._begin(namespace, source, replaces=True, has_record=record is not None)
        generation = begun.generation
        by_origin = edges_by_origin(edges)
        birth = uuid4().hex
        open_items = {memory_id(namespace, each): item for each, item in items.items()}
        created: set[str] = set()
        updated: set[str] = set()
        async for number in rounds():
            existing = await self._writer.existing(list(open_items.values()))
            if not number:
                created = open_items.keys() - existing.keys()
            changes = [
                _change(item, seen, by_origin.get(item.memory.content_hash, ()), generation)
                for item, seen in ((item, existing.get(point_id)) for point_id, item in open_items.items())
                if seen is None or seen.attached.generation <= generation  # else a later one has written what counts
            ]
            updated |= {each.point_id for each in changes if each.seen and each.memory is not each.seen.memory}
            not_taken: set[str] = set()
            for chunk in chunks(changes):
                not_taken |= await self._writer.write(chunk, birth)
            open_items = {point_id: open_items[point_id] for point_id in not_taken}
            if not open_items or (await self._state(namespace, source)).generation > generation:
                break
        deleted = await self._delete_older(namespace, source)
        if begun.is_listed:
            await self._keep(namespace, source, begun, record)
        updated -= created
        return SourceOutcome(len(created), len(updated), len(items) - len(created) - len(updated), deleted)

    async def relink_source(self, namespace: str, source: str, edges: Sequence[Edge], record: SourceRecord) -> None:
        by_origin = edges_by_origin(edges)
        check_edges(source, [each.memory.content_hash for each in await self._memories_of(namespace, source)], edges)
        begun = await self._begin(namespace, source, replaces=False, has_record=True)
        async for _ in rounds():
            there = await self._memories_of(namespace, source)
            if (await self._state(namespace, source)).token != begun.token:
                return  # between reading and writing: what a later change has written is not written over
            changes = [
                Change(each, each.memory, None, replace(each.attached, edges=now))
                for each, now in ((each, tuple(by_origin.get(each.memory.content_hash, ()))) for each in there)
                if each.attached.edges != now
            ]
            not_taken: set[str] = set()
            for chunk in chunks(changes):
                not_taken |= await self._writer.write(chunk, birth="")
            if not not_taken:
                break
        if not begun.is_half_replaced:
            await self._keep(namespace, source, begun, record)

    async def _memories_of(self, namespace: str, source: str) -> list[Stored]:
        """Without their vectors."""
        of_source = _of_source(namespace, source)
        return [Stored.of(record) async for record in scrolled(self._connection, of_source, fields=True)]

    async def add_edges(self, namespace: str, edges: Sequence[Edge]) -> list[str]:
        by_origin = edges_by_origin(edges)
        missing: list[str] = []
        for part in parts_of(list(by_origin)):
            missing += await self._add_part(namespace, {origin: by_origin[origin] for origin in part})
        return sorted(missing)

    async def _add_part(self, namespace: str, by_origin: Mapping[str, Sequence[Edge]]) -> list[str]:
        """Returns the ids that are no memories."""
        open_ids = {memory_id(namespace, origin): origin for origin in by_origin}
        missing: list[str] = []
        async for _ in rounds():
            records = await retrieved(self._connection, namespace, list(open_ids.values()), True)
            there = {str(record.id): Stored.of(record) for record in records}
            missing += [origin for point_id, origin in open_ids.items() if point_id not in there]
            changes: list[Change] = []
            for point_id, seen in there.items():
                origin = open_ids[point_id]
                merged = tuple(edges_by_origin((*seen.attached.edges, *by_origin[origin]))[origin])
                if merged != seen.attached.edges:
                    changes.append(Change(seen, seen.memory, None, replace(seen.attached, edges=merged)))
            not_taken: set[str] = set()
            for chunk in chunks(changes):
                not_taken |= await self._writer.write(chunk, birth="")
            open_ids = {point_id: open_ids[point_id] for point_id in not_taken}
            if not open_ids:
                break
        return missing

    async def drop_edges_to(self, namespace: str, ids: Sequence[str]) -> None:
        """Those that lead to these ids, not those to a name."""
        targets = {edge_target(each, by_name=False) for each in ids}
        leading_there = passing(MemoryFilter(namespace), any_of("edge_targets", sorted(targets)))
        async for _ in rounds():
            seen = [Stored.of(record) async for record in scrolled(self._connection, leading_there, fields=True)]
            if not seen:
                break
            changes = [
                Change(each, each.memory, None, replace(each.attached, edges=_without(each.attached.edges, targets)))
                for each in seen
            ]
            for chunk in chunks(changes):
                await self._writer.write(chunk, birth="")

    async def _begin(self, namespace: str, source: str, *, replaces: bool, has_record: bool) -> SourceState:
        """Take the turn, and the next number if memories are replaced, unless somebody else takes it first. The source
        is open from now on if it has a record, or shall have one."""
        point_id = other_id(SOURCE, namespace, source)
        token = uuid4().hex
        async for _ in rounds():
            last = await self._state(namespace, source)
            is_listed = has_record or last.is_listed
            payload = {
                "kind": SOURCE,
                "scope": namespace,
                "generation": last.generation + 1 if replaces else max(last.generation, 1),
                "token": token,
                "half_replaced": (replaces and is_listed) or last.is_half_replaced,
                **record_payload(SourceRecord(source, OPEN) if is_listed else None),
            }
            if last.token:
                as_seen = point_with(point_id, "token", last.token)
                only_next = payload_upsert(point_id, payload, models.UpdateMode.UPDATE_ONLY, as_seen)
            else:
                only_next = payload_upsert(point_id, payload, models.UpdateMode.INSERT_ONLY)
            await self._writer.send([only_next])
            begun = await self._state(namespace, source)
            if begun.token == token:
                return begun
        raise AssertionError("the rounds end with an error")

    async def _state(self, namespace: str, source: str) -> SourceState:
        fields = ["generation", "token", "fingerprint", "half_replaced"]
        records = await self._connection.points([other_id(SOURCE, namespace, source)], fields)
        if not records:
            return SourceState()
        payload = payload_of(records[0])
        is_listed = payload.get("fingerprint") is not None
        return SourceState(payload["generation"], payload["token"], is_listed, payload.get("half_replaced", False))

    async def _keep(self, namespace: str, source: str, begun: SourceState, record: SourceRecord | None) -> None:
        """Close the source, unless another change has begun since."""
        as_begun = point_with(other_id(SOURCE, namespace, source), "token", begun.token)
        closed = models.SetPayload(payload={**record_payload(record), "half_replaced": False}, filter=as_begun)
        await self._writer.send([models.SetPayloadOperation(set_payload=closed)])

    async def _delete_older(self, namespace: str, source: str) -> int:
        newest = (await self._state(namespace, source)).generation
        newer = models.FieldCondition(key="generation", range=models.Range(gte=newest))
        older = models.Filter(must=[_of_source(namespace, source)], must_not=[newer])
        gone = [(record.id, payload_of(record)) async for record in scrolled(self._connection, older, ["tags"])]
        for start in range(0, len(gone), CHUNK_MEMORIES):
            part = gone[start : start + CHUNK_MEMORIES]
            ids = [str(point_id) for point_id, _ in part]
            # Asked again for each: another replacement may have taken it over meanwhile.
            still_older = models.Filter(must=[models.HasIdCondition(has_id=list(ids))], must_not=[newer])
            tagged = any(payload["tags"] for _, payload in part)
            await self._writer.delete_points(namespace, ids, still_older, tagged=tagged)
        return len(gone)


def _of_source(namespace: str, source: str) -> models.Filter:
    """All but plain memories."""
    anything = passing(MemoryFilter(namespace), equals("source", source))
    return models.Filter(must=anything.must, must_not=[equals("memory_kind", "memory")])


def _without(edges: Sequence[Edge], targets: Set[str]) -> tuple[Edge, ...]:
    return tuple(edge for edge in edges if edge_target(edge.to, by_name=edge.by_name) not in targets)


def _change(item: EmbeddedMemory, seen: Stored | None, edges: Sequence[Edge], generation: int) -> Change:
    if seen is None:
        return Change(None, first_form(item.memory), item.vectors, Attached((), tuple(edges), generation))
    attached = replace(seen.attached, edges=tuple(edges), generation=generation)
    vectors = item.vectors if seen.vectors == () else seen.vectors
    return Change(seen, replaced(seen.memory, item.memory), vectors, attached)
