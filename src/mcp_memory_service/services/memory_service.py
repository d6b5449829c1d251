"""`MemoryService`: every use case once, behind whichever door it is asked for."""

import asyncio
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, tzinfo
from functools import partial
from pathlib import Path

from ..embeddings.base import Embedder
from ..errors import InvalidInput, MemoryNotFound, SearchUnavailable, Unavailable
from ..hybrid_search import BALANCED_ALPHA, RankingPolicy
from ..models import (
    DEFAULT_NAMESPACE,
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
    history_of,
    main_namespace,
    trash_of,
)
from ..storage.ports import Store
from ..timestamps import from_microseconds, now_microseconds
from .health import Health
from .ids import Ids
from .life import Life
from .outcomes import MAX_FOUND, MAX_OVERVIEW_TAGS, MAX_PINNED, MAX_RECENT, BulkOutcome, Context, Overview
from .search.cached_inputs import CachedInputs
from .search.explanation import Explainer
from .search.reranking import Reranking
from .search.results import Explanation, MemoryListing, Paging, SearchResult
from .search.search import Search
from .search.searchers import SearcherPool
from .search.signals import AskedSignals
from .shared import SharedParts
from .sources.found import with_files
from .sources.sources import DocumentOptions, Sources
from .write import checks, idempotency
from .write.storing import ServiceLimits, Storing

MAX_EDITORS = 5  # so often an edit is tried again that others were faster with


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
        reranking: Reranking | None = None,
        zone: tzinfo = UTC,
        store_file: Path | None = None,
        documents: DocumentOptions | None = None,
        shared: SharedParts | None = None,
    ) -> None:
        """`tuned` gives the policy in place of `policy`, from the weights that were tuned for a namespace; `zone`
        is that of words such as `yesterday`; the vocabularies of query expansion are kept beside `store_file`."""
        self._shared = shared or SharedParts(storage, embedder, searchers, reranking, monotonic_seconds, store_file)
        self._shared.by_namespace[namespace] = self
        self._storage = storage
        self._namespace = namespace
        self._now = now
        self._zone = zone
        self._required_tags: tuple[str, ...] = ()
        """Folded: what is read must have all of them."""
        self._ids = Ids(storage, namespace)
        limits = limits or ServiceLimits()
        self._life = Life(storage, namespace, now, limits.trash_days)
        self.has_trash = limits.trash_days > 0
        inputs = CachedInputs(storage, self._shared.inputs, namespace, monotonic_seconds)
        self._tags = inputs.tags
        self._storing = Storing(storage, self._shared.embedder, limits, namespace, now, zone)
        policy, reranking = policy or RankingPolicy(), self._shared.reranking
        self._search = Search(storage, inputs, policy, now, monotonic_seconds, zone, reranking)
        self._documents = documents or DocumentOptions()
        room, parts = self._storing.require_room, (self._tags.forget, self._shared.runs[namespace])
        self.sources = Sources(storage, self._shared.backlog, namespace, self._documents, room, *parts)
        self._tuned = tuned
        self._in_namespace: Callable[[str], MemoryService] = lambda other: MemoryService(
            storage, embedder, policy, limits, other, now, monotonic_seconds,
            tuned=tuned, zone=zone, documents=documents, shared=self._shared,
        )  # fmt: skip

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
        held.sources = self.sources.with_room(held._storing.require_room)
        return held

    async def store_memory(self, draft: MemoryDraft) -> StoreOutcome:
        """Remember a text; the same text again unites tags and metadata with what is there."""
        return (await self.store_batch([draft]))[0]

    async def store_batch(self, drafts: Sequence[MemoryDraft]) -> list[StoreOutcome]:
        """Remember all of them or, if one is refused, none; outcomes come in the order given.

        BatchIncomplete says what is stored if a server fails half-way; sending the batch again is safe.
        """
        try:
            resolved = [await self._ids.with_superseded(draft) for draft in drafts]
            return await self._storing.store_batch(resolved, self._required_tags)
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
        run = search.run
        if searchers is not None and not search.reranks(request):  # they have no cross-encoder
            run = partial(searchers.run, search)
        # A folder may be described by a note that a caller held to some tags must not read.
        shows_context = self._documents.folder_context and not self._required_tags
        found, check = await run(request, where), self._shared.freshness
        return await with_files(found, self._storage, self._namespace, check, folder_context=shows_context)

    async def explain(self, request: SearchRequest, content_hash: str) -> Explanation:
        """Why one memory is where it is in the answer to a query, or why it is not there."""
        memory = await self._ids.current(content_hash)
        request = checks.checked_search(request)
        explainer = Explainer(self._storage, await self._tuned_search(), self._now)
        return await explainer.explain(request, self._filter_of(request), memory.content_hash)

    async def ask_signals(self, query: str) -> AskedSignals:
        """What the signals say of a query, to be ranked in several ways: see `rank_asked`."""
        request = checks.checked_search(SearchRequest(query))
        where = self._filter_of(request)
        await self.prepare_expansion()
        results = await (await self._tuned_search()).all_signals(request, where)
        return AskedSignals(request, where, results, self._now())

    async def rank_asked(self, asked: AskedSignals, policy: RankingPolicy) -> list[str]:
        """The content hashes in the order that a search with this policy would give them."""
        search = self._search.with_policy(policy)
        ranking = await self._storage.search(
            lambda snapshot: search.rank(asked.request, asked.where, asked.results, snapshot, asked.asked_at)
        )
        return ranking.fused.content_hashes

    async def list_memories(self, request: ListRequest | None = None) -> MemoryListing:
        """All memories that pass the filters, newest first."""
        request = request or ListRequest()
        page, page_size = request.page, request.page_size
        checks.check_page(page, page_size)
        where, paging = self._filter_of(request), Paging(page, page_size, 0)
        if request.include_superseded:
            found = await self._life.list_with_history(where, paging.offset, page_size)
        else:
            found = await self._storage.list_memories(where, paging.offset, page_size)
        return MemoryListing(found.memories, replace(paging, total=found.total), where.after, where.before)

    async def get_memory(self, content_hash: str) -> Memory:
        """By its id, by the first digits of it, or by that of an earlier version."""
        return await self._ids.current(content_hash, self._may_see)

    async def get_version(self, content_hash: str) -> Memory:
        """The text of exactly this id, also if another has taken its place."""
        return await self._ids.version(content_hash, self._may_see)

    def _may_see(self, memory: Memory) -> bool:
        return set(self._required_tags) <= set(map(fold_tag, memory.tags))

    async def update_memory(self, content_hash: str, patch: MemoryPatch, idempotency_key: str | None = None) -> Memory:
        """Change a memory; another content makes a new version under an id of its own, to which the old id leads. Sent
        again with the same key, the patch is not applied again: the answer is the memory as it is by then."""
        now, checked = self._now(), self._storing.checked_patch(patch)
        # `30d` is the same when it is sent again.
        key = idempotency.update_key(idempotency_key, content_hash, replace(checked, expires_at=patch.expires_at), now)
        vectors = () if patch.content is None else await self._storing.vectors_of(patch.content)
        for _ in range(MAX_EDITORS):  # another one may make the next version meanwhile
            memory_id = (await self._ids.changeable(content_hash)).content_hash
            try:
                memory = await self._storage.update(self._namespace, memory_id, checked, now, key, vectors)
            finally:
                self._tags.forget()
            if memory is not None:
                return memory
        raise MemoryNotFound(content_hash)

    async def memory_history(self, content_hash: str) -> list[Memory]:
        """All versions of a memory and what they took the place of, the one that holds now first."""
        return await self._life.history(content_hash)

    async def delete_memory(self, content_hash: str, idempotency_key: str | None = None) -> str:
        """Put a memory into the trash, or forget it for good where there is none; MemoryNotFound if it is not there, or
        in the trash already. Returns the id of what was deleted, which may have taken the place of what was asked for.
        Sent again with the same key, it ends as the first time did, and a memory that was stored anew meanwhile
        stays."""
        key = idempotency.delete_key(idempotency_key, content_hash, self._now())
        try:
            memory = await self._life.to_delete(content_hash)
            existed = await self._life.delete(memory, key)
            memory_id = memory.content_hash
        except MemoryNotFound:
            if key is None or not checks.is_id(content_hash.lower()):
                raise
            # The first request with this key may have deleted it.
            memory_id = content_hash.lower()
            existed = await self._storage.delete(self._namespace, memory_id, key)
        finally:
            self._tags.forget()
        if not existed:
            raise MemoryNotFound(content_hash)
        return memory_id

    async def restore_memory(self, content_hash: str) -> Memory:
        """Bring a memory back from the trash."""
        await self._storing.require_room(1)
        try:
            return await self._life.restore(content_hash)
        finally:
            self._tags.forget()

    async def list_trash(self, page: int = 1, page_size: int = 10) -> MemoryListing:
        """What was deleted and can be brought back, newest first."""
        checks.check_page(page, page_size)
        paging = Paging(page, page_size, 0)
        found = await self._storage.list_memories(MemoryFilter(trash_of(self._namespace)), paging.offset, page_size)
        memories = tuple(replace(memory, namespace=self._namespace) for memory in found.memories)
        return MemoryListing(memories, replace(paging, total=found.total))

    async def empty_trash(self) -> int:
        """Delete for good what has been in the trash of any namespace for longer than it is kept; returns how much."""
        trashes = [each for each in await self._storage.namespaces() if each == trash_of(main_namespace(each))]
        return sum([await self.within(main_namespace(each))._life.empty_trash() for each in trashes])

    async def delete_matching(self, request: ListRequest, expected: int | None = None) -> BulkOutcome:
        """Delete all memories that pass the filters, if they are as many as expected; without that, say which they
        are."""
        checks.require_filter(request)
        try:
            return await self._life.delete_matching(self._filter_of(request), expected)
        finally:
            self._tags.forget()

    async def retag_matching(
        self, request: ListRequest, add: Sequence[str] = (), remove: Sequence[str] = (), expected: int | None = None
    ) -> BulkOutcome:
        """Add tags to all memories that pass the filters and remove others, likewise."""
        checks.require_filter(request)
        try:
            return await self._life.retag_matching(self._filter_of(request), add, remove, expected)
        finally:
            self._tags.forget()

    async def purge_memories(self, content_hashes: Sequence[str]) -> Purged:
        """Delete memories with all their versions, as far as they are there, and erase the bytes of all that was
        deleted from the store's files."""
        checks.check_purged(content_hashes)
        try:
            ids = await self._life.with_versions(content_hashes)
            purged = await self._storage.purge(self._namespace, ids)
            not_found = tuple(each for each in purged.not_found if each in map(str.lower, content_hashes))
            return Purged(not_found, purged.erased, memories=len(ids) - len(purged.not_found))
        finally:
            self._tags.forget()
            self._shared.concepts.forget()

    async def record_feedback(self, query: str, content_hash: str, *, useful: bool) -> None:
        """Note whether a memory was of use for a query; said again, the last word counts. Tuning learns from it."""
        checks.check_query(query)
        memory = await self._ids.current(content_hash)
        known = await self._storage.add_feedback(
            self._namespace, Feedback(query, memory.content_hash, useful, created_at=self._now())
        )
        if not known:
            raise MemoryNotFound(content_hash)

    async def list_tags(self) -> list[TagCount]:
        return await self._storage.get_all_tags(self._namespace)

    async def recall_context(self, query: str | None = None) -> Context:
        """The pinned memories, and with a query what it finds beside them, else the newest."""
        pinned = await self.list_memories(ListRequest(page_size=MAX_PINNED, pinned=True))
        found, recent = None, ()
        if query is not None:
            found = await self.search(SearchRequest(query, page_size=MAX_FOUND))
            known = {memory.content_hash for memory in pinned.memories}
            found = replace(found, results=tuple(hit for hit in found.results if hit.memory.content_hash not in known))
        else:
            recent = (await self.list_memories(ListRequest(page_size=MAX_RECENT, pinned=False))).memories
        return Context(pinned.memories, pinned.paging.total, found, recent)

    async def overview(self) -> Overview:
        """What there is: counts, the commonest tags, the newest memories, and what searches do without."""
        storage, one = self._storage, ListRequest(page_size=1)
        return Overview(
            stats=await self.stats(),
            tags=tuple((await self.list_tags())[:MAX_OVERVIEW_TAGS]),
            recent=(await self.list_memories(ListRequest(page_size=MAX_RECENT))).memories,
            pinned=(await self.list_memories(replace(one, pinned=True))).paging.total,
            expired=(await self.list_memories(replace(one, expired=True))).paging.total,
            superseded=await storage.count_all_memories(history_of(self._namespace)),
            trashed=await storage.count_all_memories(trash_of(self._namespace)),
            degraded=storage.degraded,
        )

    async def stats(self) -> StoreStats:
        return await self._storage.stats(self._namespace)

    async def health(self) -> Health:
        """Whether storing and searching would work."""
        return await self._shared.health.run()

    async def warm_up(self) -> None:
        await self._shared.health.warm_up()
        if self._shared.reranking is not None:
            await self._shared.reranking.warm_up()

    async def prepare_expansion(self) -> None:
        """Where queries are expanded, make the vocabulary of the namespace now, unless it is there."""
        if (await self._tuned_search()).policy.query_expansion:
            await self._shared.concepts.prepare(self._namespace)

    async def work_in_background(self) -> None:
        """For as long as the service lives: vectors for what has none, and vocabularies that searches ask for."""
        await asyncio.gather(self._shared.backlog.work_off_for_ever(), self._shared.concepts.keep_fresh())

    async def close(self) -> None:
        """Ends what goes on in the background, in all namespaces."""
        for runs in self._shared.runs.values():
            await runs.close()

    async def _tuned_search(self) -> Search:
        """With the weights that this namespace had when it was first searched."""
        tuned = self._tuned
        if tuned is not None:
            try:
                tuning = await self._storage.current_tuning(self._namespace)
            except Unavailable as error:  # with other weights it would be another answer
                raise SearchUnavailable(f"The search could not be answered: {error.message}") from error
            self._search, self._tuned = self._search.with_policy(tuned(tuning.weights if tuning else None)), None
        if self._required_tags and self._search.policy.query_expansion:  # its terms tell of memories without the tags
            return self._search.with_policy(replace(self._search.policy, query_expansion=False))
        return self._search

    def _filter_of(self, request: SearchRequest | ListRequest) -> MemoryFilter:
        where = checks.checked_filter(self._namespace, request, from_microseconds(self._now(), self._zone))
        if not self._required_tags:
            return where
        if where.tag_match == "any" and len(where.tags) > 1:
            raise InvalidInput(
                "This token is held to some tags: combine others with tag_match=all.",
                reason="tag_match_all_only",
                field="tag_match",
            )
        return replace(where, tags=tuple(dict.fromkeys((*self._required_tags, *where.tags))), tag_match="all")
