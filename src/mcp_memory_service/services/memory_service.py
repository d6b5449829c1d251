"""`MemoryService`: every use case once, behind whichever door it is asked for."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from ..embeddings.base import Embedder
from ..errors import EmbedderUnavailable, InvalidInput, MemoryNotFound, MemoryServiceError
from ..hybrid_search import RankingPolicy
from ..models import (
    DEFAULT_NAMESPACE,
    UNSET,
    Feedback,
    Memory,
    MemoryDraft,
    MemoryFilter,
    MemoryPatch,
    Purged,
    SearchMode,
    StoreOutcome,
    StoreStats,
    TagCount,
    TagMatch,
)
from ..storage.ports import Store
from ..timestamps import now_microseconds
from .search.explanation import Explainer, Explanation
from .search.results import Health, MemoryListing, Paging, RetrievalResult
from .search.search import Retrieval, RetrievalRequest
from .search.searching import Searching
from .search.signals import Answers
from .search.tag_cache import TagCache
from .shared_check import SharedCheck
from .tracked_embedder import TrackedEmbedder
from .write import checks
from .write import idempotency as request_keys
from .write.storing import ServiceLimits, Storing


@dataclass(frozen=True, slots=True)
class Asked:
    """A query and what every signal answered to it."""

    request: RetrievalRequest
    answers: Answers


class SearchOptions(TypedDict, total=False):
    """What a search may be told beside its query, its page and its commonest filters."""

    tag_match: TagMatch
    after: int | None
    before: int | None
    mode: SearchMode
    """`semantic` and `keyword` ask one signal alone."""
    alpha: float | None
    fts_weight: float | None
    vector_weight: float | None
    """The two weights are another way to give alpha: the share of the vector weight."""
    debug: bool


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
    ) -> None:
        self._storage = storage
        self._embedder = TrackedEmbedder(embedder, monotonic_seconds)
        self._namespace = namespace
        self._now = now
        self._tags = TagCache(storage, namespace, monotonic_seconds)
        self._storing = Storing(storage, self._embedder, limits or ServiceLimits(), namespace, now)
        searching = Searching(storage, self._embedder, self._tags)
        policy = policy or RankingPolicy()
        self._retrieval = Retrieval(storage, searching, policy, now, monotonic_seconds)
        self._explainer = Explainer(storage, self._retrieval)
        self._health = SharedCheck(self._checked_health)

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
        **options: Unpack[SearchOptions],
    ) -> RetrievalResult:
        """Find what matters for a query, best first.

        Hybrid by default: tags that the query names are found and weighed against meaning and words. `tags` names them
        instead and keeps only memories that carry them; `tags=[]` leaves tags out. `min_similarity` drops vector hits
        only. See SearchOptions for the rest.
        """
        return await self._retrieval.run(
            self._request(query, page, page_size, tags, memory_type, min_similarity, options)
        )

    async def ask_signals(self, query: str) -> Asked:
        """What the signals say of a query, to be ranked in several ways: see `rank_asked`."""
        request = self._request(query, 1, 10, None, None, None, {})
        return Asked(request, await self._retrieval.ask_all(request))

    async def rank_asked(self, asked: Asked, policy: RankingPolicy) -> list[str]:
        """The content hashes in the order that a search with this policy would give them."""
        ranking = await self._retrieval.with_policy(policy).rank_answers(asked.request, asked.answers)
        return ranking.fused.content_hashes

    async def explain(
        self,
        query: str,
        content_hash: str,
        page_size: int = 10,
        tags: Sequence[str] | None = None,
        memory_type: str | None = None,
        min_similarity: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> Explanation:
        """Why one memory is where it is in the answer to a query, or why it is not there."""
        _require_hash(content_hash)
        request = self._request(query, 1, page_size, tags, memory_type, min_similarity, options)
        return await self._explainer.explain(request, content_hash)

    async def list_memories(
        self,
        page: int = 1,
        page_size: int = 10,
        tags: Sequence[str] = (),
        memory_type: str | None = None,
        *,
        tag_match: TagMatch = "any",
        after: int | None = None,
        before: int | None = None,
    ) -> MemoryListing:
        """All memories that pass the filters, newest first."""
        checks.check_page(page, page_size)
        where = self._filter(tags, tag_match, memory_type, after, before)
        found = await self._storage.list_memories(where, offset=(page - 1) * page_size, limit=page_size)
        return MemoryListing(found.memories, Paging(page, page_size, found.total))

    async def search_by_tag(
        self, tags: Sequence[str], tag_match: TagMatch = "any", page: int = 1, page_size: int = 10
    ) -> MemoryListing:
        """The memories that carry any (or all) of these tags, newest first."""
        if not tags:
            raise InvalidInput("At least one tag is needed.", reason="tags_empty", field="tags")
        return await self.list_memories(page, page_size, tags, tag_match=tag_match)

    async def get_memory(self, content_hash: str) -> Memory:
        _require_hash(content_hash)
        found = await self._storage.get_many(self._namespace, [content_hash])
        if not found:
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
        request = request_keys.update_key(idempotency_key, content_hash, patch, now)
        try:
            memory = await self._storage.update(self._namespace, content_hash, patch, now, request)
        finally:
            self._tags.forget()
        if memory is None:
            raise MemoryNotFound(content_hash)
        return memory

    async def delete_memory(self, content_hash: str, idempotency_key: str | None = None) -> None:
        """Forget a memory for good; MemoryNotFound if it is not there. Sent again with the same key, it ends as the
        first time did, and a memory that was stored anew meanwhile stays."""
        _require_hash(content_hash)
        request = request_keys.delete_key(idempotency_key, content_hash, self._now())
        try:
            existed = await self._storage.delete(self._namespace, content_hash, request)
        finally:
            self._tags.forget()
        if not existed:
            raise MemoryNotFound(content_hash)

    async def purge_memories(self, content_hashes: Sequence[str]) -> Purged:
        """Delete memories, as far as they are there, and erase the bytes of all that was deleted from the store's
        files."""
        if len(content_hashes) > checks.MAX_BATCH:
            raise InvalidInput(
                f"At most {checks.MAX_BATCH} memories at once.",
                reason="batch_size_out_of_range",
                field="content_hashes",
            )
        for each in content_hashes:
            if not checks.is_content_hash(each):
                raise InvalidInput(
                    "A content_hash has 64 digits from 0 to 9 and a to f.",
                    reason="content_hash_invalid",
                    field="content_hashes",
                )
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
        """Whether storing and searching would work. Who asks while it is being found out gets the same answer."""
        return await self._health()

    async def _checked_health(self) -> Health:
        """Both are tried, and so is the embedder unless it answered a moment ago. Without one, words and tags are still
        searched."""
        problems: dict[str, str] = {}
        if self._embedder.is_in_doubt:
            await self.warm_up()
        if self._embedder.problem:
            problems["embedder_unavailable"] = self._embedder.problem
        searching, writing = await asyncio.gather(
            _failure(self._storage.check_search()), _failure(self._storage.check_write())
        )
        problems |= {error.code: error.message for error in (writing, searching) if error}
        return Health(
            can_store=not (writing or self._embedder.problem), can_search=searching is None, problems=problems
        )

    async def warm_up(self) -> None:
        """Load the embedding model, so that the first request does not wait for it; a failure shows in `health`."""
        with suppress(EmbedderUnavailable):
            await self._embedder.warm_up()

    def _request(
        self,
        query: str,
        page: int,
        page_size: int,
        tags: Sequence[str] | None,
        memory_type: str | None,
        min_similarity: float | None,
        options: SearchOptions,
    ) -> RetrievalRequest:
        checks.check_query(query)
        checks.check_page(page, page_size)
        checks.check_fraction(min_similarity, "min_similarity", low=-1.0)
        checks.check_fraction(options.get("alpha"), "alpha")
        return RetrievalRequest(
            query=query,
            where=self._filter(
                tags or (),
                options.get("tag_match", "any"),
                memory_type,
                options.get("after"),
                options.get("before"),
            ),
            page=page,
            page_size=page_size,
            extract_tags=tags is None,
            min_similarity=min_similarity,
            alpha=checks.alpha_from_weights(
                options.get("alpha"), options.get("fts_weight"), options.get("vector_weight")
            ),
            mode=options.get("mode", "hybrid"),
            debug=options.get("debug", False),
        )

    def _filter(
        self, tags: Sequence[str], tag_match: TagMatch, memory_type: str | None, after: int | None, before: int | None
    ) -> MemoryFilter:
        checks.check_name(memory_type, "memory_type")
        types = (memory_type,) if memory_type else ()
        return MemoryFilter(self._namespace, checks.folded_tags(tags), tag_match, types, after, before)


async def _failure(check: Awaitable[None]) -> MemoryServiceError | None:
    try:
        await check
    except MemoryServiceError as error:
        return error
    return None


def _require_hash(content_hash: str) -> None:
    """What is no hash at all is the hash of nothing; the store is not asked, for it may be no text either."""
    if not checks.is_content_hash(content_hash):
        raise MemoryNotFound(content_hash)
