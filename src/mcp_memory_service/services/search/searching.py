"""One search from beginning to end: prepared, asked of the store, and once more if it had changed meanwhile."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from ...embeddings.base import Embedder
from ...storage.ports import SearchReads, Snapshot, Store
from .cached_inputs import Preparation
from .signals import Answers, Outdated, Prepared, Question, ask
from .tag_cache import TagCache

T = TypeVar("T")

Use: TypeAlias = Callable[[Answers, SearchReads], Coroutine[Any, Any, T]]
"""What becomes of the answers of the signals, while the store is at hand."""


class Searching:
    def __init__(self, storage: Store, embedder: Embedder, tags: TagCache) -> None:
        self._storage = storage
        self._preparation = Preparation(storage, embedder, tags)

    async def search(self, question: Question, use: Use[T], *, part_by_part: bool = False) -> T:
        """`part_by_part` is for so many candidates that one thread would be busy with them for long."""
        prepared = await self._preparation.prepare(question)
        found = await self._asked(question, prepared, use, part_by_part)
        if isinstance(found, Outdated):
            prepared = await self._preparation.prepare_anew(prepared, found.memories)
            found = await self._asked(question, replace(prepared, is_final=True), use, part_by_part)
        assert not isinstance(found, Outdated)
        return found

    async def _asked(self, question: Question, prepared: Prepared, use: Use[T], part_by_part: bool) -> T | Outdated:
        vector_is_unfit = False

        async def search(snapshot: Snapshot) -> T | Outdated:
            nonlocal vector_is_unfit
            slowed_by = self._storage.degraded  # it may be over before all have answered
            answers = await ask(question, prepared, snapshot)
            if isinstance(answers, Outdated):
                return answers
            vector_is_unfit = answers.vector.is_unfit
            answers = replace(answers, slowed_by=slowed_by or self._storage.degraded)
            answers.require_an_answer()
            return await use(answers, snapshot.reads)

        try:
            return await self._storage.search(search, part_by_part=part_by_part)
        finally:
            if vector_is_unfit:
                self._preparation.forget_vector(question.query)
