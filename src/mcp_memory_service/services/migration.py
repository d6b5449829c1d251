"""Copying a whole store into another one: in parts, again and again without harm, and checked at the end.

There is no record of how far a copy came. Each part is compared with what the target has and only the rest is stored: a
copy that was interrupted at any point goes on when it is started again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..embeddings.base import Embedder
from ..embeddings.windows import embed_windows
from ..errors import MigrationIncomplete
from ..models import EmbeddedMemory, Memory, MemoryFilter
from ..storage.base import WholeStorage
from ..storage.merging import unite

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is to do."""

PART = 250
# Of so many memories, evenly chosen, every field and the vector are compared at the end.
VERIFIED = 500
# Stores may keep vectors scaled to length one, and rounded.
LEAST_SIMILARITY = 0.999


@dataclass(frozen=True, slots=True)
class MigrationReport:
    memories: int
    """How many the source has."""
    copied: int
    """How many of them were stored now; the others were there already."""
    namespaces: int
    feedback: int
    verified: int
    """Of how many every field and the vector were compared."""
    embeddings_reused: bool


class Migration:
    def __init__(self, source: WholeStorage, target: WholeStorage, embedder: Embedder, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._embedder = embedder
        self._progress = progress

    async def run(self) -> MigrationReport:
        sizes = await self._source_sizes()
        total = sum(sizes.values())
        reuse = await self._same_model(list(sizes))
        step = max(1, total // VERIFIED)
        done = copied = 0
        sample: list[EmbeddedMemory] = []
        cursor: str | None = None
        self._progress("Copying", 0, total)
        while True:
            part = await self._source.scan(cursor, PART)
            copied += await self._copy_part(part.items, reuse)
            sample += [item for number, item in enumerate(part.items, start=done) if number % step == 0]
            done += len(part.items)
            self._progress("Copying", min(done, total), total)
            cursor = part.cursor
            if cursor is None:
                break
        feedback = sum([await self._copy_learned(namespace) for namespace in sizes])
        await self._verify(done, sample, reuse)
        return MigrationReport(total, copied, len(sizes), feedback, len(sample), reuse)

    async def _source_sizes(self) -> dict[str, int]:
        return {name: (await self._source.stats(name)).memories for name in await self._source.namespaces()}

    async def _same_model(self, namespaces: Sequence[str]) -> bool:
        """Vectors are of use only to the model that made them."""
        models = {(await self._source.stats(namespace)).embedding_model for namespace in namespaces}
        return models <= {self._embedder.model_id}

    async def _embedded(self, items: Sequence[EmbeddedMemory], reuse: bool) -> Sequence[EmbeddedMemory]:
        if reuse or not items:
            return items
        vectors = await embed_windows(self._embedder, [item.memory.content for item in items])
        return [EmbeddedMemory(item.memory, windows) for item, windows in zip(items, vectors, strict=True)]

    async def _copy_part(self, items: Sequence[EmbeddedMemory], reuse: bool) -> int:
        there = await self._in_target([item.memory for item in items])
        missing = [item for item in items if not _contains(there.get(_key(item.memory)), item.memory)]
        if missing:
            await self._target.store_batch(await self._embedded(missing, reuse))
        return len(missing)

    async def _in_target(self, memories: Sequence[Memory]) -> dict[tuple[str, str], Memory]:
        by_namespace: dict[str, list[str]] = {}
        for memory in memories:
            by_namespace.setdefault(memory.namespace, []).append(memory.content_hash)
        return {
            _key(found): found
            for namespace, hashes in by_namespace.items()
            for found in await self._target.get_many(namespace, hashes)
        }

    async def _copy_learned(self, namespace: str) -> int:
        """Feedback on results, and the weights that are in force."""
        said = await self._source.list_feedback(namespace)
        known = set(await self._target.list_feedback(namespace))
        for feedback in said:
            if feedback not in known:
                await self._target.add_feedback(namespace, feedback)
        tuning = await self._source.current_tuning(namespace)
        in_force = await self._target.current_tuning(namespace)
        if tuning and (in_force is None or in_force.weights != tuning.weights):
            await self._target.save_tuning(namespace, tuning)
        return len(said)

    async def _verify(self, scanned: int, sample: Sequence[EmbeddedMemory], reuse: bool) -> None:
        sizes = await self._source_sizes()
        if sum(sizes.values()) != scanned:
            raise MigrationIncomplete(
                f"The source changed while it was copied ({scanned} memories were read, it now has"
                f" {sum(sizes.values())}): run the same command again."
            )
        for namespace, size in sizes.items():
            copied = (await self._target.stats(namespace)).memories
            if copied < size:
                raise MigrationIncomplete(f"Of {size} memories in {namespace!r} only {copied} are in the target.")
        for start in range(0, len(sample), PART):
            self._progress("Verifying", start, len(sample))
            await self._compare(await self._embedded(sample[start : start + PART], reuse))
        self._progress("Verifying", len(sample), len(sample))

    async def _compare(self, sample: Sequence[EmbeddedMemory]) -> None:
        there = await self._in_target([item.memory for item in sample])
        for item in sample:
            memory = item.memory
            if not _contains(there.get(_key(memory)), memory):
                raise MigrationIncomplete(f"The memory {memory.content_hash} is not in the target as it is here.")
            nearest = await self._target.retrieve(item.vectors[0], 1, MemoryFilter(memory.namespace))
            if not nearest or nearest[0].raw_score < LEAST_SIMILARITY:
                raise MigrationIncomplete(f"The vector of the memory {memory.content_hash} is not in the target.")


def _key(memory: Memory) -> tuple[str, str]:
    return memory.namespace, memory.content_hash


def _contains(found: Memory | None, memory: Memory) -> bool:
    """Whether storing the memory again would change nothing."""
    return found is not None and unite(found, memory) is found
