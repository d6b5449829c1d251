"""`MemoryService`: every use case once, behind whichever door it is asked for."""

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from weakref import WeakValueDictionary

from ..embeddings.base import Embedder
from ..errors import InvalidInput, MemoryNotFound, SearchUnavailable, Unavailable
from ..hybrid_search import BALANCED_ALPHA, RankingPolicy
from ..lru import LruCache
from ..models import (
    DEFAULT_NAMESPACE,
    UNSET,
    Feedback,
    ListRequest,
    Memory,
    MemoryDraft,
    MemoryFilter,
    MemoryPatch,
    Purged,
    SearchRequest,
    StoreOutcome,
    StoreStats,
    TagCount,
    TunedWeights,
    fold_tag,
)
from ..storage.ports import Store
from ..timestamps import When, from_microseconds, now_microseconds
from .health import Health, HealthCheck, TrackedEmbedder
from .search.cached_inputs import MAX_NAMESPACES, CachedInputs, QueryVectors
from .search.explanation import Explainer
from .search.results import Explanation, MemoryListing, Paging, SearchResult
from .search.search import Search
from .search.searchers import SearcherPool
from .search.signals import SignalResults
from .write import checks, idempotency
from .write.storing import ServiceLimits, Storing


@dataclass(frozen=True, slots=True)
class AskedSignals:
    """A query and what every signal answered to it."""

    request: SearchRequest
    where: MemoryFilter
    results: SignalResults


class _Shared:
    """What the services of all namespaces over one store have in common."""

    def __init__(
        self,
        storage: Store,
        embedder: Embedder,
        searchers: SearcherPool | None,
        monotonic_seconds: Callable[[], float],
    ) -> None:
        self.searchers = searchers
        self.embedder = TrackedEmbedder(embedder, monotonic_seconds)
        self.query_vectors = QueryVectors(self.embedder)
        self.health = HealthCheck(storage, self.embedder)
        self.by_namespace: WeakValueDictionary[str, MemoryService] = WeakValueDictionary()
        """All that are in use, so that there are never two with caches of their own for one namespace."""
        self.recent: LruCache[str, MemoryService] = LruCache(MAX_NAMESPACES)


class MemoryService:
    """Remembers and finds, within one namespace. Bad input raises InvalidInput before anything is touched."""

    def __init__(
        self,
        storage: Store,
        embedder: Embedder,
        policy: RankingPolicy | None = None,
        limits: ServiceLimits | None = None,
        namespace: str = DEFAULT_NAMESPACE,
        now: Callable[[], int] = now_microseconds,
        monotonic_seconds: Callable[[], float] = time.monotonic,
        *,
        tuned: Callable[[TunedWeights | None], RankingPolicy] | None = None,
        searchers: SearcherPool | None = None,
        zone: tzinfo = UTC,
        shared: _Shared | None = None,
    ) -> None:
        """`tuned` gives the policy in place of `policy`, from the weights that were tuned for a namespace; `zone`
        is that of words such as `yesterday`."""
        self._shared = shared or _Shared(storage, embedder, searchers, monotonic_seconds)
        self._shared.by_namespace[namespace] = self
        self._storage = storage
        self._namespace = namespace
        self._now = now
        self._zone = zone
        self._required_tags: tuple[str, ...] = ()
        """Folded: what is read must have all of them."""
        inputs = CachedInputs(storage, self._shared.query_vectors, namespace, monotonic_seconds)
        self._tags = inputs.tags
        self._storing = Storing(storage, self._shared.embedder, limits or ServiceLimits(), namespace, now, zone)
        self._search = Search(storage, inputs, policy or RankingPolicy(), now, monotonic_seconds, zone)
        self._tuned = tuned
        self._in_namespace: Callable[[str], MemoryService] = lambda other: MemoryService(
            storage,
            embedder,
            policy,
            limits,
            other,
            now,
            monotonic_seconds,
            tuned=tuned,
            zone=zone,
            shared=self._shared,
        )

    def within(self, namespace: str) -> "MemoryService":
        """The same service for another namespace: one store, one model, one health, and caches that are kept for the
        last that were asked for. Nothing of one namespace can be read, counted or changed through another."""
        found = self._shared.by_namespace.get(namespace)
        if found is None:
            checks.check_namespace(namespace)
            found = self._in_namespace(namespace)
        self._shared.recent.put(namespace, found)
        return found

    def held_to(self, tags: Sequence[str] = (), max_memories: int | None = None) -> "MemoryService":
        """The same service for a caller who may only read memories that have all of these tags, or only store so
        many."""
        if not tags and max_memories is None:
            return self
        held = copy(self)
        held._required_tags = tuple(map(fold_tag, checks.checked_tags(tags)))
        held._storing = self._storing.limited_to(max_memories)
        return held

    async def store_memory(self, draft: MemoryDraft) -> StoreOutcome:
        """Remember a text; the same text again unites tags and metadata with what is there."""
        return (await self.store_batch([draft]))[0]

    async def store_batch(self, drafts: Sequence[MemoryDraft]) -> list[StoreOutcome]:
        """Remember all of them or, if one is refused, none; outcomes come in the order given.

        BatchIncomplete says what is stored if a server fails half-way; sending the batch again is safe.
        """
        try:
            return await self._storing.store_batch(drafts)
        finally:
            self._tags.forget()

    async def retrieve_memories(
        self,
        query: str,
        page: int = 1,
        page_size: int = 10,
        tags: Sequence[str] | None = None,
        memory_type: str | None = None,
        min_similarity: float | None = None,
    ) -> SearchResult:
        """A search with its commonest options; `SearchRequest` has them all."""
        named = None if tags is None else tuple(tags)
        return await self.search(SearchRequest(query, page, page_size, named, memory_type, min_similarity))

    async def search(self, request: SearchRequest) -> SearchResult:
        """Find what matters for a query, best first."""
        request = checks.checked_search(request)
        if self._required_tags:
            # What alpha would be chosen by, and the tags that a query names, tell of memories without the tags.
            alpha = BALANCED_ALPHA if request.alpha is None else request.alpha
            request = replace(request, alpha=alpha, tags=request.tags or ())
        where, searchers = self._filter_of(request), self._shared.searchers
        search = await self._tuned_search()
        if searchers is None:
            return await search.run(request, where)
        return await searchers.run(search, request, where)

    async def explain(self, request: SearchRequest, content_hash: str) -> Explanation:
        """Why one memory is where it is in the answer to a query, or why it is not there."""
        _require_hash(content_hash)
        request = checks.checked_search(request)
        explainer = Explainer(self._storage, await self._tuned_search(), self._now)
        return await explainer.explain(request, self._filter_of(request), content_hash)

    async def ask_signals(self, query: str) -> AskedSignals:
        """What the signals say of a query, to be ranked in several ways: see `rank_asked`."""
        request = checks.checked_search(SearchRequest(query))
        where = self._filter_of(request)
        return AskedSignals(request, where, await (await self._tuned_search()).all_signals(request, where))

    async def rank_asked(self, asked: AskedSignals, policy: RankingPolicy) -> list[str]:
        """The content hashes in the order that a search with this policy would give them."""
        search, now = self._search.with_policy(policy), self._now()
        ranking = await self._storage.search(
            lambda snapshot: search.rank(asked.request, asked.where, asked.results, snapshot, now)
        )
        return ranking.fused.content_hashes

    async def list_memories(self, request: ListRequest | None = None) -> MemoryListing:
        """All memories that pass the filters, newest first."""
        request = request or ListRequest()
        page, page_size = request.page, request.page_size
        checks.check_page(page, page_size)
        where = self._filter_of(request)
        found = await self._storage.list_memories(where, offset=(page - 1) * page_size, limit=page_size)
        return MemoryListing(found.memories, Paging(page, page_size, found.total), where.after, where.before)

    async def get_memory(self, content_hash: str) -> Memory:
        _require_hash(content_hash)
        found = await self._storage.get_many(self._namespace, [content_hash])
        if not found or not set(self._required_tags) <= set(map(fold_tag, found[0].tags)):
            raise MemoryNotFound(content_hash)
        return found[0]

    async def update_memory(self, content_hash: str, patch: MemoryPatch, idempotency_key: str | None = None) -> Memory:
        """Change tags, type or metadata of a memory; its content is its identity and stays. Sent again with the same
        key, the patch is not applied again: the answer is the memory as it is by then."""
        _require_hash(content_hash)
        if patch.tags is not None:
            patch = replace(patch, tags=checks.checked_tags(patch.tags))
        if patch.memory_type is not UNSET:
            checks.check_name(patch.memory_type, "memory_type")
        if patch.metadata is not None:
            checks.check_metadata(patch.metadata)
        now = self._now()
        key = idempotency.update_key(idempotency_key, content_hash, patch, now)  # `30d` is the same when sent again
        if isinstance(patch.expires_at, str):
            patch = replace(patch, expires_at=self._moment(patch.expires_at, "expires_at", ahead=True))
        try:
            memory = await self._storage.update(self._namespace, content_hash, patch, now, key)
        finally:
            self._tags.forget()
        if memory is None:
            raise MemoryNotFound(content_hash)
        return memory

    async def delete_memory(self, content_hash: str, idempotency_key: str | None = None) -> None:
        """Forget a memory for good; MemoryNotFound if it is not there. Sent again with the same key, it ends as the
        first time did, and a memory that was stored anew meanwhile stays."""
        _require_hash(content_hash)
        key = idempotency.delete_key(idempotency_key, content_hash, self._now())
        try:
            existed = await self._storage.delete(self._namespace, content_hash, key)
        finally:
            self._tags.forget()
        if not existed:
            raise MemoryNotFound(content_hash)

    async def purge_memories(self, content_hashes: Sequence[str]) -> Purged:
        """Delete memories, as far as they are there, and erase the bytes of all that was deleted from the store's
        files."""
        checks.check_purged(content_hashes)
        try:
            return await self._storage.purge(self._namespace, list(dict.fromkeys(content_hashes)))
        finally:
            self._tags.forget()

    async def record_feedback(self, query: str, content_hash: str, *, useful: bool) -> None:
        """Note whether a memory was of use for a query; said again, the last word counts. Tuning learns from it."""
        checks.check_query(query)
        _require_hash(content_hash)
        known = await self._storage.add_feedback(
            self._namespace, Feedback(query, content_hash, useful, created_at=self._now())
        )
        if not known:
            raise MemoryNotFound(content_hash)

    async def list_tags(self) -> list[TagCount]:
        return await self._storage.get_all_tags(self._namespace)

    async def stats(self) -> StoreStats:
        return await self._storage.stats(self._namespace)

    async def health(self) -> Health:
        """Whether storing and searching would work."""
        return await self._shared.health.run()

    async def warm_up(self) -> None:
        await self._shared.health.warm_up()

    async def _tuned_search(self) -> Search:
        """With the weights that this namespace had when it was first searched."""
        tuned = self._tuned
        if tuned is not None:
            try:
                tuning = await self._storage.current_tuning(self._namespace)
            except Unavailable as error:  # with other weights it would be another answer
                raise SearchUnavailable(f"The search could not be answered: {error.message}") from error
            self._search, self._tuned = self._search.with_policy(tuned(tuning.weights if tuning else None)), None
        return self._search

    def _moment(self, when: When | None, field: str, *, ahead: bool = False) -> int | None:
        return checks.moment_of(when, field, from_microseconds(self._now(), self._zone), ahead=ahead)

    def _filter_of(self, request: SearchRequest | ListRequest) -> MemoryFilter:
        after, before = self._moment(request.after, "after"), self._moment(request.before, "before")
        where = checks.checked_filter(
            self._namespace, request.tags or (), request.tag_match, request.memory_type, after, before
        )
        if not self._required_tags:
            return where
        if where.tag_match == "any" and len(where.tags) > 1:
            raise InvalidInput(
                "This token is held to some tags: combine others with tag_match=all.",
                reason="tag_match_all_only",
                field="tag_match",
            )
        return replace(where, tags=tuple(dict.fromkeys((*self._required_tags, *where.tags))), tag_match="all")


def _require_hash(content_hash: str) -> None:
    """What is no hash at all is the hash of nothing; the store is not asked, for it may be no text either."""
    if not checks.is_content_hash(content_hash):
        raise MemoryNotFound(content_hash)
