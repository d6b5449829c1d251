"""What changes memories."""

from collections.abc import Sequence
from typing import Protocol

from ...models import EmbeddedMemory, IdempotencyKey, Memory, MemoryPatch, Purged, StoreOutcome, Vector
from ...timestamps import MICROSECONDS_PER_DAY

KEYS_KEPT_MICROSECONDS = MICROSECONDS_PER_DAY
"""How long an idempotency key is remembered: longer than any client goes on trying."""


class MemoryWrites(Protocol):
    async def store_batch(self, items: Sequence[EmbeddedMemory]) -> list[StoreOutcome]:
        """Store all of them or, if one is refused, none; outcomes come in the order given. In one transaction where the
        engine has them; where it has none and fails half-way, BatchIncomplete says which ones are stored.

        If the namespace has the same content_hash already, unite tags and names (old ones first), merge metadata (new
        values win), take a new memory_type if one is given, fill source, session, sequence and anchor if they were
        empty, be pinned if either is, take a new expires_at if one is given, take the vectors if it has none, and keep
        content, created_at and edges. Raises InvalidVector before anything is written if a vector is unfit, or if a
        plain memory has none. All others may come without: words, tags and names find them at once, and `add_vectors`
        gives them their vectors.

        What an item supersedes leaves the namespace for its history, ended when the item is stored (`updated_at`), and
        the item gets an edge of the kind `supersedes` to it. Ids that are no memories of the namespace are passed over.
        """
        ...

    async def update(
        self,
        namespace: str,
        content_hash: str,
        patch: MemoryPatch,
        now: int,
        key: IdempotencyKey | None = None,
        vectors: Sequence[Vector] = (),
    ) -> Memory | None:
        """Apply a patch to the memory as it is at that moment; None if there is no such memory.

        With another content, and its vectors, the patched memory is a new one under the id of that content, edited
        `now`: it keeps created_at and all that the patch leaves, takes over names, edges and feedback, and supersedes
        the old one, as for `store_batch`. If the namespace has that content already, the two are united there.

        With a key that the namespace has seen within KEYS_KEPT_MICROSECONDS, nothing is applied: the memory is returned
        as it is now. The key is kept together with the change or not at all; if there is no such memory, or the patch
        is refused, it is not kept. Of several at once with one key, one is carried out. IdempotencyKeyReused if the key
        came with another fingerprint before.
        """
        ...

    async def delete(
        self, namespace: str, content_hash: str, key: IdempotencyKey | None = None, *, trashed_at: int | None = None
    ) -> bool:
        """True if it was there. Once this returns, no call finds the memory or its text again in this namespace.

        With `trashed_at` it goes to the trash with all that belongs to it, ended then, in the place of one with the
        same id, whose edges it takes over; without, it is gone.

        With a key that was seen before, the first answer is given again, and a memory that was stored anew since then
        is left alone. Otherwise keys are as for `update`, but kept also if there is no such memory.
        """
        ...

    async def restore(self, namespace: str, content_hash: str, now: int) -> Memory | None:
        """Bring a memory back from the trash as it was, or united with the one that has its id by now, edges and
        feedback as well; None if it is not there."""
        ...

    async def awaiting_vectors(self, limit: int, namespace: str | None = None) -> list[Memory]:
        """Memories of a namespace, or of all, that have no vectors yet, at most `limit`, in an order that stays."""
        ...

    async def add_vectors(self, items: Sequence[EmbeddedMemory]) -> int:
        """Give vectors to memories that have none; what is gone, or has some by now, is passed over. Returns how many
        got some. InvalidVector, before anything is written, if one of the items has none or an unfit one."""
        ...

    async def purge(self, namespace: str, content_hashes: Sequence[str]) -> Purged:
        """Delete these memories, as far as they are there, in the trash and in the history as well, and erase the bytes
        of all that was ever deleted from the files of the store; as far as the engine can."""
        ...
