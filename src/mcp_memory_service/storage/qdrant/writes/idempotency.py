"""Requests with a key, each carried out once however often it is sent.

A request first claims its key: a point that is only inserted, so that of several at once one is first, and all read the
same claim back. It names the birth of the memory that the request is about.

A delete deletes what has that birth and nothing else; sent again, it does so again, in case it was interrupted.

An update writes the token of its claim into the memory itself, with the change: who finds it there knows that it was
applied. A memory of another birth was stored anew since the claim: the change was for the one before, and is not made.
If the change makes a new version, that one has the token, and the old one is still to be sent to the history if it is
there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from qdrant_client import models

from ....errors import IdempotencyKeyReused, StorageUnavailable
from ....models import IdempotencyKey, Memory, MemoryPatch, Vector, trash_of
from ...merging import apply_patch, patched_id
from ...ports import KEYS_KEPT_MICROSECONDS
from ..connection import QdrantConnection
from ..filters import any_of, equals
from ..points import REQUEST, other_id, payload_of
from ..queries.reads import retrieved
from .moves import Mover
from .writer import Change, Stored, Writer, deletion, payload_upsert, rounds

# So many tokens a memory carries at most. Those of the older half are then noted in their claims, all at once.
MAX_TOKENS = 100


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known of a key."""

    token: str
    """Names this claim: a key that is forgotten and used again has another one."""
    birth: str | None
    """Of the memory that was there when the key was claimed."""
    applied: bool
    """Noted when the memory ceases to carry the token."""

    def is_applied_in(self, written: Stored) -> bool:
        """Whether the memory that the change makes has it."""
        return self.applied or self.token in written.attached.requests


class KeyedWriter:
    def __init__(self, connection: QdrantConnection, writer: Writer, mover: Mover) -> None:
        self._connection = connection
        self._writer = writer
        self._mover = mover

    async def patch(
        self,
        namespace: str,
        content_hash: str,
        patch: MemoryPatch,
        now: int,
        vectors: Sequence[Vector],
        key: IdempotencyKey,
    ) -> Memory | None:
        new_id = patched_id(content_hash, patch)
        async for _ in rounds():
            seen, written = await self._writer.look_at((namespace, content_hash), (namespace, new_id))
            # After the memories: a token that they no longer carry is noted in the claim by then.
            claim = await self._known_claim(namespace, key)
            if claim is None:
                if seen is None:
                    return None
                apply_patch(seen.memory, patch, now)  # what is refused leaves no claim
                claim = await self._claim(namespace, key, seen.birth)
            if seen is None and written:
                await self._mover.forget_feedback(namespace, content_hash)
            if seen is None or seen.birth != claim.birth or (written is seen and claim.is_applied_in(seen)):
                by_then = written or seen
                return by_then.memory if by_then else None
            applied = await self._applied(claim, seen, written, patch, now, vectors)
            if applied is not None:
                return applied
        raise AssertionError("the rounds end with an error")

    async def _applied(
        self,
        claim: Claim,
        seen: Stored,
        written: Stored | None,
        patch: MemoryPatch,
        now: int,
        vectors: Sequence[Vector],
    ) -> Memory | None:
        """One attempt; None if something has changed meanwhile."""
        if written is not None and written is not seen and claim.is_applied_in(written):
            return written.memory if await self._mover.hand_on(seen, written.memory, now) else None
        tokens = (claim.token, *await self._tokens_to_keep(written.attached.requests if written else ()))
        if written is not seen:
            return await self._mover.revise(seen, written, patch, now, vectors, tokens)
        patched = apply_patch(seen.memory, patch, now)
        # Written even if nothing changes: by the next time it might.
        change = Change(seen, patched, seen.vectors, replace(seen.attached, requests=tokens))
        return None if await self._writer.write([change], birth=seen.birth) else patched

    async def delete(
        self, namespace: str, content_hash: str, key: IdempotencyKey, trashed_at: int | None = None
    ) -> bool:
        records = await retrieved(self._connection, namespace, [content_hash], ["tags", "birth"])
        seen = payload_of(records[0]) if records else None
        claim = await self._claim(namespace, key, seen["birth"] if seen else None)
        if claim.birth is None:
            return False
        # A memory of another birth is left alone, with its feedback. One that is gone may have left its own.
        if seen and seen["birth"] == claim.birth and trashed_at is not None:
            await self._mover.retire(namespace, content_hash, trash_of(namespace), trashed_at, claim.birth)
        elif seen is None or seen["birth"] == claim.birth:
            tagged = seen is None or bool(seen["tags"])
            await self._writer.delete_born(namespace, content_hash, claim.birth, tagged=tagged)
        return True

    async def _claim(self, namespace: str, key: IdempotencyKey, birth: str | None) -> Claim:
        """The claim of whoever was first; old ones are forgotten on the way."""
        long_ago = models.Range(lte=key.received_at - KEYS_KEPT_MICROSECONDS)
        forgotten = models.Filter(
            must=[equals("kind", REQUEST), models.FieldCondition(key="created_at", range=long_ago)]
        )
        payload = {
            "kind": REQUEST,
            "scope": namespace,
            "fingerprint": key.fingerprint,
            "created_at": key.received_at,
            "token": uuid4().hex,
            "birth": birth,
            "applied": False,
        }
        claimed = payload_upsert(_claim_id(namespace, key), payload, models.UpdateMode.INSERT_ONLY)
        await self._writer.send([deletion(forgotten), claimed])
        claim = await self._known_claim(namespace, key)
        if claim is None:
            raise StorageUnavailable("The idempotency key cannot be read back; try again.")
        return claim

    async def _known_claim(self, namespace: str, key: IdempotencyKey) -> Claim | None:
        records = await self._connection.points([_claim_id(namespace, key)], True)
        if not records:
            return None
        payload = payload_of(records[0])
        if payload["created_at"] <= key.received_at - KEYS_KEPT_MICROSECONDS:
            return None
        if payload["fingerprint"] != key.fingerprint:
            raise IdempotencyKeyReused
        return Claim(payload["token"], payload["birth"], payload["applied"])

    async def _tokens_to_keep(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        """Before tokens are dropped, their claims say that they were applied."""
        if len(tokens) < MAX_TOKENS:
            return tokens
        kept, dropped = tokens[: MAX_TOKENS // 2], tokens[MAX_TOKENS // 2 :]
        theirs = models.Filter(must=[equals("kind", REQUEST), any_of("token", list(dropped))])
        await self._connection.call(
            lambda client: client.set_payload(
                self._connection.collection,
                {"applied": True},
                points=theirs,
                wait=True,
                ordering=self._connection.write_ordering,
            )
        )
        return kept


def _claim_id(namespace: str, key: IdempotencyKey) -> str:
    return other_id(REQUEST, namespace, key.key)
