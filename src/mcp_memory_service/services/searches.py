"""Searches of a namespace, and of the code that belongs to it."""

from collections.abc import Callable, Coroutine
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import InvalidInput, SearchUnavailable, Unavailable
from ..hybrid_search import BALANCED_ALPHA, RankingPolicy
from ..models import CODE_ALONE, ListRequest, MemoryFilter, SearchRequest, TunedWeights, code_of
from ..storage.ports import Store
from ..timestamps import from_microseconds
from .ids import Ids
from .search.code_scope import code_scope
from .search.each_kind import search_each_kind
from .search.explanation import Explainer
from .search.results import Explanation, SearchResult
from .search.search import Search
from .search.searchers import SearcherPool
from .search.signals import AskedSignals
from .search.with_code import Part, search_both
from .sources.found import with_files
from .sources.sources import DocumentOptions
from .write import checks


class Searches:
    """Within one namespace; `of` gives those of another one."""

    def __init__(
        self,
        search: Search,
        storage: Store,
        namespace: str,
        searchers: SearcherPool | None,
        of: Callable[[str], "Searches"],
        tuned: Callable[[TunedWeights | None], RankingPolicy] | None,
        documents: DocumentOptions,
    ) -> None:
        self._search = search
        self._storage = storage
        self._namespace = namespace
        self._searchers = searchers
        self._of = of
        self._tuned = tuned
        self._shows_context = documents.folder_context
        """A folder may be described by a note that a caller held to some tags must not read."""
        self._ids = Ids(storage, namespace)
        self.required_tags: tuple[str, ...] = ()
        """Folded: what is read must have all of them."""

    def held_to(self, required_tags: tuple[str, ...]) -> "Searches":
        held = copy(self)
        held.required_tags = required_tags
        held._shows_context = self._shows_context and not required_tags
        return held

    def search(self, request: SearchRequest) -> Coroutine[Any, Any, SearchResult]:
        request = checks.checked_search(request)
        if request.per_kind:
            return search_each_kind(request, self._searched)
        return self._searched(request) if "code" in request.kinds else self._searched_here(request)

    async def _searched(self, request: SearchRequest) -> SearchResult:
        if "code" not in request.kinds:
            return await self._searched_here(request)
        code, for_code = self._code(), replace(request, kinds=CODE_ALONE)
        if set(request.kinds) == {"code"}:
            return await code._searched_here(for_code)
        found = await search_both(await self._part(request), await code._part(for_code))
        return await with_files(found, self._storage, self._namespace, folder_context=self._shows_context)

    async def _searched_here(self, request: SearchRequest) -> SearchResult:
        search, request, where = await self._part(request)
        run = search.run
        if self._searchers is not None and not search.reranks(request):  # they have no cross-encoder
            run = partial(self._searchers.run, search)
        found = await run(request, where)
        return await with_files(found, self._storage, self._namespace, folder_context=self._shows_context)

    async def _part(self, request: SearchRequest) -> Part:
        if self.required_tags:
            # What alpha would be chosen by, and the tags that a query names, tell of memories without the tags.
            alpha = BALANCED_ALPHA if request.alpha is None else request.alpha
            request = replace(request, alpha=alpha, tags=request.tags or ())
        if request.kinds == CODE_ALONE and request.scope is not None:
            request = replace(request, scope=await code_scope(request.scope, self._namespace, self._storage))
        where = self.filter_of(request)
        return Part(await self.tuned(), request, where)

    def _code(self) -> "Searches":
        code = self._of(code_of(self._namespace))
        return code.held_to(self.required_tags) if self.required_tags else code

    async def explain(self, request: SearchRequest, content_hash: str) -> Explanation:
        request = checks.checked_search(request)
        if "code" in request.kinds:
            code = self._code()
            if set(request.kinds) == {"code"} or await self._ids.one_in(self._namespace, content_hash) is None:
                return await code._explained(replace(request, kinds=CODE_ALONE), content_hash)
        return await self._explained(request, content_hash)

    async def _explained(self, request: SearchRequest, content_hash: str) -> Explanation:
        memory = await self._ids.current(content_hash)
        search, request, where = await self._part(request)
        return await Explainer(self._storage, search, search.now).explain(request, where, memory.content_hash)

    async def ask_signals(self, query: str) -> AskedSignals:
        request = checks.checked_search(SearchRequest(query))
        where, search = self.filter_of(request), await self.tuned()
        return AskedSignals(request, where, await search.all_signals(request, where), search.now())

    async def rank_asked(self, asked: AskedSignals, policy: RankingPolicy) -> list[str]:
        search = self._search.with_policy(policy)
        ranking = await self._storage.search(
            lambda snapshot: search.rank(asked.request, asked.where, asked.results, snapshot, asked.asked_at)
        )
        return ranking.fused.content_hashes

    async def tuned(self) -> Search:
        """With the weights that this namespace had when it was first searched."""
        if self._tuned is not None:
            try:
                tuning = await self._storage.current_tuning(self._namespace)
            except Unavailable as error:  # with other weights it would be another answer
                raise SearchUnavailable(f"The search could not be answered: {error.message}") from error
            policy = self._tuned(tuning.weights if tuning else None)
            self._search, self._tuned = self._search.with_policy(policy), None
        if self.required_tags and self._search.policy.query_expansion:  # its terms tell of memories without the tags
            return self._search.with_policy(replace(self._search.policy, query_expansion=False))
        return self._search

    def filter_of(self, request: SearchRequest | ListRequest) -> MemoryFilter:
        moment = from_microseconds(self._search.now(), self._search.zone)
        where = checks.checked_filter(self._namespace, request, moment)
        if not self.required_tags:
            return where
        if where.tag_match == "any" and len(where.tags) > 1:
            raise InvalidInput(
                "This token is held to some tags: combine others with tag_match=all.",
                reason="tag_match_all_only",
                field="tag_match",
            )
        return replace(where, tags=tuple(dict.fromkeys((*self.required_tags, *where.tags))), tag_match="all")
