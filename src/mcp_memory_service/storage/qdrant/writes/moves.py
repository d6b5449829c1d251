"""Memories that move: to the trash and back, to the history, and what one memory hands on to the next.

A memory is written where it goes, and read back, before it is deleted where it was, and deleted only in the revision
that was copied. So it is at no time lost; interrupted half-way it is in both places, until the same call completes it.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from qdrant_client import models

from ....errors import BatchIncomplete, StorageFull, StorageUnavailable
from ....models import EmbeddedMemory, Memory, MemoryPatch, StoreOutcome, Vector, history_of, trash_of
from ...merging import apply_patch, edges_by_origin, edit_joining, first_form, patched_id, superseded, unite
from ..connection import QdrantConnection
from ..filters import equals, point_with
from ..points import FEEDBACK, Attached, memory_id, other_id, payload_of
from ..queries.graph import parts_of
from ..queries.reads import PAGE, retrieved, scrolled
from .sources import SourceWriter
from .writer import Change, Stored, Writer, deletion, new_tag_list, payload_upsert, rounds


class Mover:
    def __init__(self, connection: QdrantConnection, writer: Writer, source_writer: SourceWriter) -> None:
        self._connection = connection
        self._writer = writer
        self._source_writer = source_writer

    async def store(self, items: Sequence[EmbeddedMemory]) -> list[StoreOutcome]:
        """Store them, then send to the history what they supersede."""
        outcomes = await self._writer.store(items)
        done = [not item.supersedes for item in items]
        try:
            for number, item in enumerate(items):
                await self._supersede(item)
                done[number] = True
        except (StorageUnavailable, StorageFull) as error:
            if not any(done):
                raise
            raise BatchIncomplete(done, error.message) from error
        return outcomes

    async def _supersede(self, item: EmbeddedMemory) -> None:
        namespace, new = item.memory.namespace, item.memory.content_hash
        for part in parts_of([old for old in item.supersedes if old != new]):
            records = await retrieved(self._connection, namespace, part, ["content_hash"])
            there = [payload_of(record)["content_hash"] for record in records]
            await self._source_writer.add_edges(namespace, [superseded(new, old) for old in there])
            for old in there:
                await self.retire(namespace, old, history_of(namespace), item.memory.updated_at)
            for gone in set(part).difference(there):
                await self.forget_feedback(namespace, gone)

    async def retire(
        self, namespace: str, content_hash: str, annex: str, ended_at: int, birth: str | None = None
    ) -> bool:
        """Move a memory to the history or the trash; False if it was not there, or not of this birth. What is stored
        anew meanwhile stays."""
        found = False
        async for _ in rounds():
            seen, there = await self._writer.look_at((namespace, content_hash), (annex, content_hash))
            if seen is None and there:
                await self.forget_feedback(namespace, content_hash)
            if seen is None or (birth is not None and seen.birth != birth):
                return found
            found, birth = True, seen.birth
            if await self._retired(seen, there, annex, ended_at):
                return True
        raise AssertionError("the rounds end with an error")

    async def restore(self, namespace: str, content_hash: str, now: int) -> Memory | None:
        """Born anew, of the copy in the trash: by that a repeat knows what it has written itself."""
        restored: Memory | None = None
        async for _ in rounds():
            seen, there = await self._writer.look_at((trash_of(namespace), content_hash), (namespace, content_hash))
            if seen is None and there:
                await self.forget_feedback(trash_of(namespace), content_hash)
            if seen is None:
                return restored
            birth = seen.revisions[0]
            is_united = there is not None and there.birth != birth
            change = _restoration(seen, there, namespace, now) if there is None or is_united else None
            if change and not await self._written(change, birth):
                continue
            restored = change.memory if change else there and there.memory
            if await self._removed(seen, heir=restored):
                return restored
        raise AssertionError("the rounds end with an error")

    async def patch(
        self, namespace: str, content_hash: str, patch: MemoryPatch, now: int, vectors: Sequence[Vector]
    ) -> Memory | None:
        new_id = patched_id(content_hash, patch)
        async for _ in rounds():
            seen, written = await self._writer.look_at((namespace, content_hash), (namespace, new_id))
            if seen is None and written:
                await self.forget_feedback(namespace, content_hash)
            if seen is None:
                return None
            if new_id != content_hash:
                patched = await self.revise(seen, written, patch, now, vectors)
                if patched is not None:
                    return patched
                continue
            patched = apply_patch(seen.memory, patch, now)
            if await self._written(Change(seen, patched, seen.vectors, seen.attached), birth=seen.birth):
                return patched
        raise AssertionError("the rounds end with an error")

    async def revise(
        self,
        seen: Stored,
        written: Stored | None,
        patch: MemoryPatch,
        now: int,
        vectors: Sequence[Vector],
        tokens: Sequence[str] = (),
    ) -> Memory | None:
        """Write the next version of a memory over what is `written` under its id, then send this one to the history;
        None if either has changed meanwhile. `tokens` are those that the next version has in place of its own."""
        patched = apply_patch(seen.memory, patch, now)
        old, new = seen.memory.content_hash, patched.content_hash
        attached = written.attached if written else Attached()
        taken_over = [replace(edge, from_id=new) for edge in seen.attached.edges]
        edges = edges_by_origin((*taken_over, superseded(new, old), *attached.edges))[new]
        change = Change(
            written,
            unite(written.memory, edit_joining(written.memory, patched)) if written else first_form(patched),
            written.vectors if written else vectors,
            replace(attached, edges=tuple(edges), requests=tuple(tokens) or attached.requests),
        )
        if await self._written(change, birth=uuid4().hex) and await self.hand_on(seen, change.memory, now):
            return change.memory
        return None

    async def hand_on(self, seen: Stored, heir: Memory, now: int) -> bool:
        """Send a memory to the history whose next version is written; False if it has changed meanwhile."""
        history = history_of(heir.namespace)
        (there,) = await self._writer.look_at((history, seen.memory.content_hash))
        bare = replace(seen, attached=replace(seen.attached, edges=()))
        return await self._retired(bare, there, history, now, heir)

    async def purge(self, namespace: str, content_hashes: Sequence[str]) -> set[str]:
        """Delete memories wherever they are; returns those that were there. Where they move to comes last."""
        found: set[str] = set()
        for part in parts_of(content_hashes):
            for place in (namespace, history_of(namespace), trash_of(namespace)):
                found |= await self._purge_from(place, part)
                # An id is a digest of the text.
                await self._source_writer.drop_edges_to(place, part)
        return found

    async def _purge_from(self, place: str, ids: Sequence[str]) -> set[str]:
        records = await retrieved(self._connection, place, ids, ["content_hash", "tags", "birth"])
        if not records:
            return set()
        payloads = {str(record.id): payload_of(record) for record in records}
        as_seen = [point_with(point_id, "birth", payload["birth"]) for point_id, payload in payloads.items()]
        tagged = any(payload["tags"] for payload in payloads.values())
        await self._writer.delete_points(place, list(payloads), models.Filter(should=list(as_seen)), tagged=tagged)
        return {payload["content_hash"] for payload in payloads.values()}

    async def _retired(
        self, seen: Stored, there: Stored | None, annex: str, ended_at: int, heir: Memory | None = None
    ) -> bool:
        """One attempt, in the place of one with the same id; False if something has changed meanwhile."""
        moved, attached = replace(seen.memory, namespace=annex, ended_at=ended_at), seen.attached
        # A copy has the birth of what was copied. One of the same birth is half a move, and has its feedback already.
        if there and there.birth != seen.birth:
            point_id = memory_id(annex, moved.content_hash)
            as_seen = point_with(point_id, "revision", there.revisions[0])
            await self._writer.delete_points(annex, [point_id], as_seen, tagged=bool(there.memory.tags))
            # By its edges earlier versions are found.
            edges = edges_by_origin((*there.attached.edges, *attached.edges)).get(moved.content_hash, ())
            there, attached = None, replace(attached, edges=tuple(edges))
        if not await self._written(Change(there, moved, seen.vectors, attached), seen.birth):
            return False
        return await self._removed(seen, heir or moved)

    async def _written(self, change: Change, birth: str) -> bool:
        """False if somebody else was faster."""
        if change.keeps_memory and change.seen and change.attached == change.seen.attached:
            return True
        return not await self._writer.write([change], birth)

    async def _removed(self, seen: Stored, heir: Memory | None) -> bool:
        """Delete a memory that still is as it was seen, after its heir got the feedback; False if it has changed."""
        memory = seen.memory
        if heir:
            await self._copy_feedback(memory, heir)
        as_seen = point_with(memory_id(memory.namespace, memory.content_hash), "revision", seen.revisions[0])
        await self._writer.send([deletion(as_seen), *([new_tag_list(memory.namespace)] if memory.tags else [])])
        records = await retrieved(self._connection, memory.namespace, [memory.content_hash], ["birth"])
        if records:
            return payload_of(records[0])["birth"] != seen.birth
        await self.forget_feedback(memory.namespace, memory.content_hash)
        return True

    async def forget_feedback(self, namespace: str, content_hash: str) -> None:
        """About a memory that is gone; what was interrupted may have left it behind."""
        await self._writer.send([deletion(_feedback_about(memory_id(namespace, content_hash)))])

    async def _copy_feedback(self, memory: Memory, heir: Memory) -> None:
        """What was said of the heir itself counts for more."""
        about = memory_id(heir.namespace, heir.content_hash)
        copied = {"scope": heir.namespace, "memory_id": about, "content_hash": heir.content_hash}
        before = _feedback_about(memory_id(memory.namespace, memory.content_hash))
        said = [payload_of(record) async for record in scrolled(self._connection, before, fields=True)]
        copies = [
            payload_upsert(
                other_id(FEEDBACK, about, payload["query"]), {**payload, **copied}, models.UpdateMode.INSERT_ONLY
            )
            for payload in said
        ]
        for start in range(0, len(copies), PAGE):
            await self._writer.send(copies[start : start + PAGE])


def _restoration(seen: Stored, there: Stored | None, namespace: str, now: int) -> Change:
    back = replace(seen.memory, namespace=namespace, ended_at=None)
    if there is None:
        return Change(None, back, seen.vectors, seen.attached)
    edges = edges_by_origin((*seen.attached.edges, *there.attached.edges)).get(back.content_hash, ())
    attached = replace(there.attached, edges=tuple(edges))
    return Change(there, unite(there.memory, replace(back, updated_at=now)), there.vectors, attached)


def _feedback_about(point_id: str) -> models.Filter:
    return models.Filter(must=[equals("kind", FEEDBACK), equals("memory_id", point_id)])
