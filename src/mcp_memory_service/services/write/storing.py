"""Storing: check what comes in, embed what is new, keep all of it or nothing."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from ...embeddings.base import Embedder
from ...embeddings.chunks import embed_chunks
from ...errors import InvalidInput, QuotaExceeded
from ...models import (
    EmbeddedMemory,
    Memory,
    MemoryDraft,
    MemoryFilter,
    MemoryPatch,
    StoreOutcome,
    Vector,
    identity_hash,
)
from ...storage.ports import Store
from ...timestamps import from_microseconds
from . import checks
from .similar import MAX_ASKED_ITEMS, with_similar

QUOTA_RETRY_SECONDS = 3_600
"""Somebody has to delete memories first."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    max_content_chars: int = 100_000
    max_memories: int | None = None
    """In a namespace; writers of other processes may get past it by as many as they write at the same moment."""
    trash_days: int = 7
    """How long what is deleted can be brought back; 0 deletes at once."""
    find_similar: bool = True
    """Whether the outcome of a store names what is similar."""


class Storing:
    def __init__(
        self,
        storage: Store,
        embedder: Embedder,
        limits: ServiceLimits,
        namespace: str,
        now: Callable[[], int],
        zone: tzinfo = UTC,
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._limits = limits
        self._namespace = namespace
        self._now = now
        self._zone = zone
        self._counting = asyncio.Lock()

    def limited_to(self, max_memories: int | None) -> "Storing":
        """The same with this limit, unless a lower one holds anyway."""
        limits = [limit for limit in (self._limits.max_memories, max_memories) if limit is not None]
        limited = replace(self._limits, max_memories=min(limits, default=None))
        storing = Storing(self._storage, self._embedder, limited, self._namespace, self._now, self._zone)
        storing._counting = self._counting
        return storing

    async def store_batch(self, drafts: Sequence[MemoryDraft], visible_tags: Sequence[str] = ()) -> list[StoreOutcome]:
        """The outcomes name only memories that have all of these tags."""
        if not 1 <= len(drafts) <= checks.MAX_BATCH:
            raise InvalidInput(
                f"A batch has 1 to {checks.MAX_BATCH} memories, not {len(drafts)}.",
                reason="batch_size_out_of_range",
                field="memories",
            )
        # Every character is looked at: a large batch would hold the event loop for a while.
        memories = await asyncio.to_thread(self._checked_batch, drafts)
        if self._limits.max_memories is None:
            items, outcomes = await self._stored(drafts, memories)
        else:
            async with self._counting:  # what is counted holds until it is stored
                items, outcomes = await self._stored(drafts, memories)
        if not self._limits.find_similar or len(items) > MAX_ASKED_ITEMS:
            return outcomes
        where = MemoryFilter(self._namespace, tuple(visible_tags), "all", alive_at=self._now())
        return await with_similar(self._storage, items, outcomes, where)

    async def _stored(
        self, drafts: Sequence[MemoryDraft], memories: Sequence[Memory]
    ) -> tuple[list[EmbeddedMemory], list[StoreOutcome]]:
        superseded = len({each for draft in drafts for each in draft.supersedes})
        embedded = await self._embedded(memories, superseded)
        items = [replace(item, supersedes=draft.supersedes) for item, draft in zip(embedded, drafts, strict=True)]
        return items, await self._storage.store_batch(items)

    def checked_patch(self, patch: MemoryPatch) -> MemoryPatch:
        return checks.checked_patch(patch, self._limits.max_content_chars, from_microseconds(self._now(), self._zone))

    async def vectors_of(self, content: str) -> tuple[Vector, ...]:
        """Of a text that a plain memory shall have."""
        (embedded,) = await embed_chunks(self._embedder, [("", content)])
        return embedded

    async def _embedded(self, memories: Sequence[Memory], superseded: int) -> list[EmbeddedMemory]:
        """With their vectors. A text that the store has already keeps the vectors it has there: the model need not see
        it again."""
        texts = {memory.content_hash: (memory.heading, memory.content) for memory in memories}
        vectors: dict[str, tuple[Vector, ...]] = {
            found.memory.content_hash: found.vectors
            for found in await self._storage.get_embedded(self._namespace, list(texts))
            if found.vectors
        }
        new = [each for each in texts if each not in vectors]
        if new:
            await self.require_room(len(new) - superseded)
            embedded = await embed_chunks(self._embedder, [texts[each] for each in new])
            vectors |= zip(new, embedded, strict=True)
        return [EmbeddedMemory(memory, vectors[memory.content_hash]) for memory in memories]

    async def require_room(self, new: int) -> None:
        limit = self._limits.max_memories
        if limit is not None and await self._storage.count_all_memories(self._namespace) + new > limit:
            raise QuotaExceeded(
                f"The namespace may have {limit} memories, and has no room for {new} more: delete some first.",
                QUOTA_RETRY_SECONDS,
            )

    def _checked_batch(self, drafts: Sequence[MemoryDraft]) -> list[Memory]:
        """An error says which memory of a batch it is."""
        memories: list[Memory] = []
        for number, draft in enumerate(drafts):
            try:
                memories.append(self._checked_memory(draft))
            except InvalidInput as error:
                if len(drafts) == 1:
                    raise
                field = f"memories.{number}.{error.field}" if error.field else f"memories.{number}"
                raise InvalidInput(f"{field}: {error.message}", reason=error.code, field=field) from error
        return memories

    def _checked_memory(self, draft: MemoryDraft) -> Memory:
        now = self._now()
        checks.check_content(draft.content, self._limits.max_content_chars)
        for field in ("memory_type", "source", "session", "anchor"):
            checks.check_name(getattr(draft, field), field)
        for name in draft.names:
            checks.check_name(name, "names")
        checks.check_metadata(draft.metadata)
        # What was a memory before keeps its times, also those of a clock that was ahead.
        latest = now if draft.updated_at is None else None
        checks.check_moment(draft.created_at, "created_at", latest)
        checks.check_moment(draft.updated_at, "updated_at", latest)
        checks.check_moment(draft.edited_at, "edited_at", latest)
        checks.check_sequence(draft.sequence)
        expires_at = checks.checked_expiry(
            draft.expires_at, from_microseconds(now, self._zone), may_be_past=draft.updated_at is not None
        )
        return Memory(
            content=draft.content,
            content_hash=identity_hash(draft.kind, draft.source, draft.anchor, draft.content),
            created_at=now if draft.created_at is None else draft.created_at,
            updated_at=now if draft.updated_at is None else draft.updated_at,
            tags=checks.checked_tags(draft.tags),
            memory_type=draft.memory_type,
            metadata=draft.metadata,
            namespace=self._namespace,
            source=draft.source,
            session=draft.session,
            sequence=draft.sequence,
            kind=draft.kind,
            anchor=draft.anchor,
            names=draft.names,
            pinned=draft.pinned,
            expires_at=expires_at,
            edited_at=draft.edited_at,
        )
