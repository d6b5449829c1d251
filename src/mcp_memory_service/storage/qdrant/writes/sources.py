"""Replacing all that came from one source, and edges that are added to what is there.

Each replacement of a source takes a number, higher than all before. It writes the number into every memory that the
source has now, and then deletes those that have a lower one than the newest replacement: its own too, if another one
has begun since. So of several at once the last one wins, in whatever order their requests arrive, and one that was
interrupted leaves nothing that the next one does not clear away.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from uuid import uuid4

from qdrant_client import models

from ....models import Edge, EmbeddedMemory, MemoryFilter, SourceOutcome
from ...merging import edges_by_origin, first_form, replaced
from ..connection import QdrantConnection
from ..filters import any_of, equals, passing, point_with
from ..points import SOURCE, Attached, edge_target, memory_id, other_id, payload_of
from ..queries.graph import parts_of
from ..queries.reads import retrieved, scrolled
from .writer import CHUNK_MEMORIES, Change, Stored, Writer, chunks, payload_upsert, rounds


class SourceWriter:
    def __init__(self, connection: QdrantConnection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    async def replace_source(
        self, namespace: str, source: str, items: Mapping[str, EmbeddedMemory], edges: Sequence[Edge]
    ) -> SourceOutcome:
        """`items` by their ids."""
        generation = await self._begin(namespace, source)
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
            updated |= {change.point_id for change in changes if change.seen and not change.keeps_memory}
            not_taken: set[str] = set()
            for chunk in chunks(changes):
                not_taken |= await self._writer.write(chunk, birth)
            open_items = {point_id: open_items[point_id] for point_id in not_taken}
            if not open_items or (await self._last_begun(namespace, source))[0] > generation:
                break
        deleted = await self._delete_older(namespace, source)
        updated -= created
        return SourceOutcome(len(created), len(updated), len(items) - len(created) - len(updated), deleted)

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
                    changes.append(Change(seen, seen.memory, (), replace(seen.attached, edges=merged)))
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
                Change(each, each.memory, (), replace(each.attached, edges=_without(each.attached.edges, targets)))
                for each in seen
            ]
            for chunk in chunks(changes):
                await self._writer.write(chunk, birth="")

    async def _begin(self, namespace: str, source: str) -> int:
        """The number of this replacement: one more than that of the last one, if nobody else takes it first."""
        point_id = other_id(SOURCE, namespace, source)
        token = uuid4().hex
        async for _ in rounds():
            last, its_token = await self._last_begun(namespace, source)
            payload = {"kind": SOURCE, "scope": namespace, "generation": last + 1, "token": token}
            if last:
                as_seen = point_with(point_id, "token", its_token)
                only_next = payload_upsert(point_id, payload, models.UpdateMode.UPDATE_ONLY, as_seen)
            else:
                only_next = payload_upsert(point_id, payload, models.UpdateMode.INSERT_ONLY)
            await self._writer.send([only_next])
            begun, its_token = await self._last_begun(namespace, source)
            if its_token == token:
                return begun
        raise AssertionError("the rounds end with an error")

    async def _last_begun(self, namespace: str, source: str) -> tuple[int, str]:
        """The number of the newest replacement and its token."""
        records = await self._connection.points([other_id(SOURCE, namespace, source)], ["generation", "token"])
        if not records:
            return 0, ""
        payload = payload_of(records[0])
        return payload["generation"], payload["token"]

    async def _delete_older(self, namespace: str, source: str) -> int:
        newest, _ = await self._last_begun(namespace, source)
        newer = models.FieldCondition(key="generation", range=models.Range(gte=newest))
        of_source = passing(MemoryFilter(namespace), equals("source", source))
        older = models.Filter(must=of_source.must, must_not=[newer, equals("memory_kind", "memory")])
        gone = [(record.id, payload_of(record)) async for record in scrolled(self._connection, older, ["tags"])]
        for start in range(0, len(gone), CHUNK_MEMORIES):
            part = gone[start : start + CHUNK_MEMORIES]
            ids = [str(point_id) for point_id, _ in part]
            # Asked again for each: another replacement may have taken it over meanwhile.
            still_older = models.Filter(must=[models.HasIdCondition(has_id=list(ids))], must_not=[newer])
            tagged = any(payload["tags"] for _, payload in part)
            await self._writer.delete_points(namespace, ids, still_older, tagged=tagged)
        return len(gone)


def _without(edges: Sequence[Edge], targets: Set[str]) -> tuple[Edge, ...]:
    return tuple(edge for edge in edges if edge_target(edge.to, by_name=edge.by_name) not in targets)


def _change(item: EmbeddedMemory, seen: Stored | None, edges: Sequence[Edge], generation: int) -> Change:
    if seen is None:
        return Change(None, first_form(item.memory), item.vectors, Attached((), tuple(edges), generation))
    attached = replace(seen.attached, edges=tuple(edges), generation=generation)
    return Change(seen, replaced(seen.memory, item.memory), seen.vectors, attached)
