"""Copying a whole store into another one: in parts, again and again without harm, and checked at the end.

There is no record of how far a copy came. Each part is compared with what the target has and only the rest is stored: a
copy that was interrupted at any point goes on when it is started again, and a last pass that finds nothing to store
proves that everything is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ...embeddings.base import Embedder
from ...embeddings.chunks import embed_chunks
from ...errors import MigrationIncomplete, Unavailable
from ...models import EmbeddedMemory, Memory, MemoryFilter, Progress, Vector
from ...storage.merging import unite
from ...storage.ports import Store

PART = 250
# Of so many memories, evenly chosen, the vectors are compared too.
VERIFIED = 500
# So often the source is gone through again if it has changed meanwhile.
MAX_PASSES = 5
# Stores may keep vectors scaled to length one, and rounded.
MIN_SIMILARITY = 0.999


@dataclass(frozen=True, slots=True)
class MigrationReport:
    memories: int
    """How many the source has."""
    copied: int
    """How many were stored now, because the target lacked them or a part of them."""
    namespaces: int
    feedback: int
    verified: int
    """Of how many the vectors were compared; all memories were compared in what they say."""
    embeddings_reused: bool


@dataclass(frozen=True, slots=True)
class _Pass:
    """What came of going through the source once."""

    memories: int
    copied: int
    verified: int


class Migration:
    def __init__(self, source: Store, target: Store, embedder: Embedder, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._embedder = embedder
        self._progress = progress

    async def run(self) -> MigrationReport:
        try:
            return await self._copy_all()
        except Unavailable as error:
            raise MigrationIncomplete(f"{error.message} Run the same command again to go on.") from error

    async def _copy_all(self) -> MigrationReport:
        namespaces = await self._source.namespaces()
        reuse = await self._same_model(namespaces)
        first = await self._go_through("Copying", reuse, verify=False)
        copied, last = first.copied, first
        for _ in range(MAX_PASSES):
            last = await self._go_through("Verifying", reuse, verify=True)
            copied += last.copied
            if not last.copied:
                break
        else:
            raise MigrationIncomplete(
                f"The target still lacked {last.copied} memories after {MAX_PASSES} passes: stop what writes to the"
                " source and run the same command again."
            )
        for namespace in namespaces:
            await self._copy_records(namespace)
        feedback = sum([await self._copy_learned(namespace) for namespace in namespaces])
        return MigrationReport(last.memories, copied, len(namespaces), feedback, last.verified, reuse)

    async def _go_through(self, doing: str, reuse: bool, *, verify: bool) -> _Pass:
        """Copy what the target lacks. If nothing is copied, everything is there: every memory has been compared."""
        total = sum([(await self._source.stats(name)).memories for name in await self._source.namespaces()])
        step = max(1, total // VERIFIED)
        done = copied = verified = 0
        cursor: str | None = None
        self._progress(doing, 0, total)
        while True:
            part = await self._source.scan(cursor, PART)
            copied += await self._copy_part(part.items, reuse)
            if verify:
                sample = [item for number, item in enumerate(part.items, start=done) if number % step == 0]
                await self._compare_vectors(await self._embedded(sample, reuse))
                verified += len(sample)
            done += len(part.items)
            self._progress(doing, min(done, total), total)
            cursor = part.cursor
            if cursor is None:
                return _Pass(done, copied, verified)

    async def _same_model(self, namespaces: Sequence[str]) -> bool:
        """Vectors are of use only to the model that made them."""
        models = {(await self._source.stats(namespace)).embedding_model for namespace in namespaces}
        return models <= {self._embedder.model_id}

    async def _embedded(self, items: Sequence[EmbeddedMemory], reuse: bool) -> Sequence[EmbeddedMemory]:
        if reuse or not items:
            return items
        texts = [(item.memory.heading, item.memory.content) for item in items]
        vectors = await embed_chunks(self._embedder, texts)
        return [EmbeddedMemory(item.memory, chunks) for item, chunks in zip(items, vectors, strict=True)]

    async def _copy_part(self, items: Sequence[EmbeddedMemory], reuse: bool) -> int:
        ids = _by_namespace([item.memory for item in items])
        there = {
            _key(found): found
            for namespace, hashes in ids.items()
            for found in await self._target.get_many(namespace, hashes)
        }
        missing = [item for item in items if not _contains(there.get(_key(item.memory)), item.memory)]
        if missing:
            await self._target.store_batch(await self._embedded(missing, reuse))
        added = await self._add_late_vectors([item for item in items if _key(item.memory) in there], reuse)
        with_edges = [await self._copy_edges(namespace, hashes) for namespace, hashes in ids.items()]
        return added + len({_key(item.memory) for item in missing}.union(*with_edges))

    async def _add_late_vectors(self, items: Sequence[EmbeddedMemory], reuse: bool) -> int:
        """Of what waited for them when it was copied, and has them by now."""
        late = [item for item in items if item.vectors and item.memory.kind != "memory"]
        waiting = {
            _key(found.memory)
            for namespace, hashes in _by_namespace([item.memory for item in late]).items()
            for found in await self._target.get_embedded(namespace, hashes)
            if not found.vectors
        }
        wanted = [item for item in late if _key(item.memory) in waiting]
        return await self._target.add_vectors(await self._embedded(wanted, reuse)) if wanted else 0

    async def _copy_edges(self, namespace: str, ids: Sequence[str]) -> set[tuple[str, str]]:
        """Those of memories that the target has by now; returns whose were missing."""
        there = await self._target.edges_from(namespace, ids)
        missing = [
            edge
            for origin, edges in (await self._source.edges_from(namespace, ids)).items()
            for edge in edges
            if edge not in there.get(origin, ())
        ]
        if missing:
            await self._target.add_edges(namespace, missing)
        return {(namespace, edge.from_id) for edge in missing}

    async def _copy_records(self, namespace: str) -> None:
        """What is known of sources, as far as the target knows nothing of them; what is in them has been copied."""
        there = {record.source for record in await self._target.list_sources(namespace, details=False)}
        for record in await self._source.list_sources(namespace):
            if record.source not in there:
                ids = await self._ids_in_target(namespace, record.source)
                edges = (await self._target.edges_from(namespace, ids)).values()
                await self._target.relink_source(namespace, record.source, [*chain(*edges)], record)

    async def _ids_in_target(self, namespace: str, source: str) -> list[str]:
        """Of what belongs to a source: plain memories do not."""
        found: list[Memory] = []
        while True:
            page = await self._target.list_memories(MemoryFilter(namespace, source=source), len(found), PART)
            found += page.memories
            if len(found) >= page.total or not page.memories:
                return [memory.content_hash for memory in found if memory.kind != "memory"]

    async def _copy_learned(self, namespace: str) -> int:
        """Feedback on results, and the weights that are in force; what the target has and is newer stays."""
        there = await self._target.list_feedback(namespace)
        said_at = {(feedback.query, feedback.content_hash): feedback.created_at for feedback in there}
        copied = 0
        for feedback in await self._source.list_feedback(namespace):
            known_at = said_at.get((feedback.query, feedback.content_hash))
            if known_at is None or known_at < feedback.created_at:
                copied += await self._target.add_feedback(namespace, feedback)
        tuning = await self._source.current_tuning(namespace)
        if tuning and await self._target.current_tuning(namespace) is None:
            await self._target.save_tuning(namespace, tuning)
        return copied

    async def _compare_vectors(self, sample: Sequence[EmbeddedMemory]) -> None:
        for item in sample:
            memory = item.memory
            found = await self._target.get_embedded(memory.namespace, [memory.content_hash])
            # What waits for its vectors in the source may have them in the target.
            if not (found and (not item.vectors or _same_directions(found[0].vectors, item.vectors))):
                raise MigrationIncomplete(f"The vectors of the memory {memory.content_hash} are not in the target.")


def _same_directions(some: Sequence[Vector], others: Sequence[Vector]) -> bool:
    return len(some) == len(others) and all(map(_same_direction, some, others))


def _same_direction(one: Vector, other: Vector) -> bool:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return one.size == other.size and float(one @ other) >= MIN_SIMILARITY * lengths


def _key(memory: Memory) -> tuple[str, str]:
    return memory.namespace, memory.content_hash


def _by_namespace(memories: Sequence[Memory]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for memory in memories:
        ids.setdefault(memory.namespace, []).append(memory.content_hash)
    return ids


def _contains(found: Memory | None, memory: Memory) -> bool:
    """Whether storing the memory again would change nothing."""
    return found is not None and unite(found, memory) is found
