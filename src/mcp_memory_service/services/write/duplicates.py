"""Memories that say nearly the same: found all over a namespace, and merged so that nothing is lost.

A cluster is one memory, which would be kept, and older ones that are like it. Each is like the one kept, and not only
like another that is: what takes the place of a memory says what that one said. The newest is kept, for of two that
differ in one word the later one was written by somebody who knew more; the others stay in the history.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput, MemoryNotFound
from ...hybrid_search import mean_direction
from ...models import EmbeddedMemory, JsonValue, Memory, MemoryPatch, Progress, SimilarMemory, Vector, fold_tag
from ...storage.ports import Store

DEFAULT_THRESHOLD = 0.9
"""Nearly the same words. From 0.75 on, all 9 pairs of our own corpus are of one matter, but most are corrections which
leave out something that the earlier one says (python -m tests.eval.similar_pairs)."""
MIN_THRESHOLD = 0.5
"""Below, texts have no more than a subject in common."""

SCAN_PART = 1_000
# So many pairs are compared at once, in 40 MB and a tenth of a second: the work stops soon when it is told to.
MAX_PAIRS_AT_ONCE = 10_000_000
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Cluster:
    kept: Memory
    others: tuple[SimilarMemory, ...]
    """What it would supersede, most similar first."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    compared: int
    clusters: tuple[Cluster, ...]
    """Largest first."""


@dataclass(frozen=True, slots=True)
class _Compared:
    content_hash: str
    written_at: int
    direction: Vector


async def find_duplicates(
    storage: Store, namespace: str, now: int, progress: Progress, threshold: float, tags: Sequence[str] = ()
) -> Duplicates:
    """Those of the namespace, or of its memories with any of the tags. Only plain memories: others belong to their
    sources. Vectors of all are held at once, and no more than that."""
    if not MIN_THRESHOLD <= threshold <= 1.0:
        raise InvalidInput(
            f"threshold must be {MIN_THRESHOLD} to 1.", reason="threshold_out_of_range", field="threshold"
        )
    compared = await _scanned(storage, namespace, now, {fold_tag(tag) for tag in tags})
    compared.sort(key=lambda each: (-each.written_at, each.content_hash))
    directions = np.array([each.direction for each in compared], np.float32)
    groups = await _groups(directions, threshold - _ROUNDING, progress)
    clusters: list[Cluster] = []
    for kept, others in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        ids = [compared[place].content_hash for place in (kept, *others)]
        found = {each.memory.content_hash: each.memory for each in await storage.get_embedded(namespace, ids)}
        similar = [
            SimilarMemory(found[compared[place].content_hash], similarity)
            for place, similarity in others.items()
            if compared[place].content_hash in found
        ]
        if ids[0] in found and similar:  # all others were deleted meanwhile
            clusters.append(Cluster(found[ids[0]], tuple(sorted(similar, key=lambda each: -each.similarity))))
    return Duplicates(len(compared), tuple(clusters))


async def merge_cluster(storage: Store, cluster: Cluster, now: int) -> Memory:
    """Give the one that is kept all tags and metadata of the others, its own first, and let it supersede them. They are
    read again: what was changed meanwhile counts, and what was deleted stays so. MemoryNotFound if that is the one to
    be kept; InvalidInput if it would have too many tags or too much metadata; nothing is changed then."""
    ids = [cluster.kept.content_hash, *(each.memory.content_hash for each in cluster.others)]
    found = await storage.get_embedded(cluster.kept.namespace, ids)
    if not found or found[0].memory.content_hash != ids[0]:
        raise MemoryNotFound(ids[0])
    kept, others = found[0], [each.memory for each in found[1:]]
    ends = [memory.expires_at for memory in (kept.memory, *others)]
    expires_at = None if None in ends else max(end for end in ends if end is not None)
    if expires_at != kept.memory.expires_at:  # first: none of them shall end sooner for being merged
        await storage.update(kept.memory.namespace, ids[0], MemoryPatch(expires_at=expires_at), now)
    metadata: dict[str, JsonValue] = {}
    for memory in (*reversed(others), kept.memory):
        metadata |= memory.metadata
    merged = replace(
        kept.memory,
        tags=tuple(tag for memory in (kept.memory, *others) for tag in memory.tags),
        metadata=metadata,
        pinned=any(memory.pinned for memory in (kept.memory, *others)),
        updated_at=now,
    )
    item = EmbeddedMemory(merged, kept.vectors, supersedes=tuple(memory.content_hash for memory in others))
    return (await storage.store_batch([item]))[0].memory


async def _scanned(storage: Store, namespace: str, now: int, tags: set[str]) -> list[_Compared]:
    compared: list[_Compared] = []
    cursor: str | None = None
    while True:
        part = await storage.scan(cursor, SCAN_PART)
        for item in part.items:
            memory = item.memory
            is_asked = memory.namespace == namespace and (not tags or tags & set(map(fold_tag, memory.tags)))
            is_alive = memory.expires_at is None or memory.expires_at > now
            if is_asked and is_alive and memory.kind == "memory":
                written_at = max(memory.created_at, memory.edited_at or memory.created_at)
                compared.append(_Compared(memory.content_hash, written_at, mean_direction(item.vectors)))
        cursor = part.cursor
        if cursor is None:
            return compared


async def _groups(directions: NDArray[np.float32], threshold: float, progress: Progress) -> dict[int, dict[int, float]]:
    """By the place of the one that is kept: those after it that are like it and like none before it, with how much."""
    groups: dict[int, dict[int, float]] = {}
    free = np.ones(len(directions), bool)
    rows_at_once = max(1, MAX_PAIRS_AT_ONCE // max(1, len(directions)))
    for start in range(0, len(directions), rows_at_once):
        rows = directions[start : start + rows_at_once]
        progress("Comparing memories", start, len(directions))
        similarities = await asyncio.to_thread(np.matmul, rows, directions[start:].T)
        # Most rows have none but themselves.
        for row in ((similarities >= threshold).sum(axis=1) > 1).nonzero()[0].tolist():
            if not free[start + row]:
                continue
            like_it = (similarities[row, row + 1 :] >= threshold) & free[start + row + 1 :]
            places = like_it.nonzero()[0] + row + 1
            if places.size:
                groups[start + row] = {start + place: float(similarities[row, place]) for place in places.tolist()}
                free[start + places] = False
    if len(directions):
        progress("Comparing memories", len(directions), len(directions))
    return groups
