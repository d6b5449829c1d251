"""One search from beginning to end: prepared, asked of the store, and once more if it had changed meanwhile."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from ..embeddings.base import Embedder
from ..storage.base import MemoryStorage, SearchReads
from ..storage.pace import OnLoop, Pace
from .preparation import Preparation
from .signals import Answers, Prepared, Question, ask
from .tag_cache import TagCache

T = TypeVar("T")

Use: TypeAlias = Callable[[Answers, SearchReads, Pace], Coroutine[Any, Any, T]]
"""What becomes of the answers of the signals, while the store is at hand."""


@dataclass(frozen=True, slots=True)
class _Outdated:
    """In place of a search that was prepared with what does not hold any more."""

    memories: int | None


class Searching:
    def __init__(self, storage: MemoryStorage, embedder: Embedder, tags: TagCache) -> None:
        self._storage = storage
        self._preparation = Preparation(storage, embedder, tags)

    async def search(self, question: Question, use: Use[T], *, part_by_part: bool = False) -> T:
        """`part_by_part` is for so many candidates that one thread would be busy with them for long."""
        prepared = await self._preparation.prepare(question)
        found = await self._asked(question, prepared, use, part_by_part)
        if isinstance(found, _Outdated):
            prepared = await self._preparation.prepare_anew(question, found.memories)
            found = await self._asked(question, prepared, use, part_by_part, is_last=True)
        assert not isinstance(found, _Outdated)
        return found

    async def _asked(
        self, question: Question, prepared: Prepared, use: Use[T], part_by_part: bool, *, is_last: bool = False
    ) -> T | _Outdated:
        async def search(reads: SearchReads, pace: Pace) -> T | _Outdated:
            slowed_by = self._storage.degraded  # it may be over before all have answered
            answers = await ask(question, prepared, reads, pace)
            if answers.outdated and not is_last:
                return _Outdated(answers.memories)
            if answers.vector.failed:
                self._preparation.forget_vector(question.query)  # it may not be what this store was made with
            answers = replace(answers, slowed_by=slowed_by or self._storage.degraded)
            answers.require_an_answer()
            return await use(answers, reads, pace)

        if part_by_part:
            return await OnLoop().run(lambda pace: search(self._storage, pace))
        return await self._storage.search(search)
