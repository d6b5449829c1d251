"""From what a caller calls a memory to the memory that it is now."""

from collections.abc import Callable
from dataclasses import replace

from ..errors import AmbiguousId, InvalidInput, MemoryNotFound
from ..models import KINDS_OF_FILES, Memory, MemoryDraft, history_of
from ..storage.ports import Store
from .write import checks

MAX_CANDIDATES = 10
"""Named when an id is ambiguous."""


class Ids:
    """Ids may be given by their first digits, and by those of an earlier version of the memory."""

    def __init__(self, storage: Store, namespace: str) -> None:
        self._storage = storage
        self._namespace = namespace

    async def current(self, asked: str, may_see: Callable[[Memory], bool] = lambda _: True) -> Memory:
        """The memory of this id, or the one that took its place; MemoryNotFound if there is none that the caller may
        see, AmbiguousId if there are several."""
        found = await self.one_in(self._namespace, asked, may_see)
        if found is None:
            past = await self.one_in(history_of(self._namespace), asked, may_see)
            found = None if past is None else await self._successor(past.content_hash, may_see)
        if found is None:
            raise MemoryNotFound(asked)
        return found

    async def changeable(self, asked: str) -> Memory:
        """Likewise; InvalidInput if it comes from a file, which the next index run would not read again for that."""
        found = await self.current(asked)
        if found.kind in KINDS_OF_FILES:
            raise _of_a_file(found)
        return found

    async def one_in(
        self, namespace: str, asked: str, may_see: Callable[[Memory], bool] = lambda _: True
    ) -> Memory | None:
        """Among the memories of one namespace; None if none has it."""
        # What is no id at all is the id of nothing; the store is not asked, for it may be no text either.
        digits = asked.lower()
        if not checks.is_id(digits):
            raise MemoryNotFound(asked)
        ids = [digits]
        if not checks.is_content_hash(digits):
            ids = await self._storage.find_ids(namespace, digits, MAX_CANDIDATES)
        found = [memory for memory in await self._storage.get_many(namespace, ids) if may_see(memory)]
        if len(found) > 1:
            raise AmbiguousId(asked, [memory.content_hash for memory in found])
        return found[0] if found else None

    async def version(self, asked: str, may_see: Callable[[Memory], bool]) -> Memory:
        """The text of exactly this id, also if another has taken its place."""
        for namespace in (self._namespace, history_of(self._namespace)):
            found = await self.one_in(namespace, asked, may_see)
            if found:
                return replace(found, namespace=self._namespace)
        raise MemoryNotFound(asked)

    async def with_superseded(self, draft: MemoryDraft) -> MemoryDraft:
        """With the whole ids of what it takes the place of."""
        if len(draft.supersedes) > checks.MAX_SUPERSEDED:
            raise InvalidInput(
                f"A memory supersedes at most {checks.MAX_SUPERSEDED} others at once.",
                reason="too_many_superseded",
                field="supersedes",
            )
        try:
            superseded = [await self.current(asked) for asked in draft.supersedes]
        except MemoryNotFound as error:
            raise InvalidInput(error.message, reason="superseded_unknown", field="supersedes") from error
        for memory in superseded:
            if memory.kind in KINDS_OF_FILES:
                raise _of_a_file(memory, "supersedes")
        return replace(draft, supersedes=tuple(each.content_hash for each in superseded)) if superseded else draft

    async def _successor(self, content_hash: str, may_see: Callable[[Memory], bool]) -> Memory | None:
        """What superseded what superseded it, and so on, up to a memory that nothing did."""
        passed, asked = {content_hash}, [content_hash]
        while asked:
            live = await self._storage.edges_to(self._namespace, asked, ["supersedes"])
            ids = [edge.from_id for edges in live.values() for edge in edges]
            found = [memory for memory in await self._storage.get_many(self._namespace, ids) if may_see(memory)]
            if found:
                return max(found, key=lambda memory: (memory.updated_at, memory.content_hash))
            past = await self._storage.edges_to(history_of(self._namespace), asked, ["supersedes"])
            ids += [edge.from_id for edges in past.values() for edge in edges]  # those of before may have ended since
            asked = [each for each in dict.fromkeys(ids) if each not in passed]
            passed.update(asked)
        return None


def _of_a_file(memory: Memory, field: str | None = None) -> InvalidInput:
    return InvalidInput(
        f"{memory.short_id} comes from {memory.source}: change it there.", reason="content_of_a_source", field=field
    )
