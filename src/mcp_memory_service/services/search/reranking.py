"""The first results of a search, read again together with the query by a cross-encoder (ADR 25)."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import RerankerUnavailable
from ...hybrid_search import MAX_PASSAGE_CHARS, lift_updates_among, rerank
from ...lru import LruCache
from ...models import Memory, SearchRequest
from ...rerank.base import Reranker
from .passages import passages_of
from .query import Missing, note
from .ranking import Page, Ranking
from .signals import ChunkSimilarities

logger = logging.getLogger(__name__)

MAX_KEPT = 1_024
"""So many answers of the cross-encoder are kept: the next page of a search shall not wait for it again, and has the
same order."""


@dataclass(frozen=True, slots=True)
class Reranking:
    reranker: Reranker
    top_n: int = 10
    """So many of the whole ranking get a new order, whichever page is asked for."""
    weight: float = 0.5
    timeout_seconds: float = 2.0
    kept: LruCache[bytes, list[float]] = field(default_factory=lambda: LruCache[bytes, list[float]](MAX_KEPT))

    def is_wanted(self, request: SearchRequest) -> bool:
        """Unless the request says so itself, in hybrid searches: in a mode of one signal its order stays as it is."""
        return request.mode == "hybrid" if request.rerank is None else request.rerank

    async def rerank(
        self, ranking: Ranking, query: str, memories: Sequence[Memory], chunks: ChunkSimilarities
    ) -> Ranking:
        """The ranking with its first memories in their new order, or as it was with the reason why."""
        before = ranking.before_updates or ranking.fused
        by_id = {memory.content_hash: memory for memory in memories}
        # In one order, whichever page is asked for: the texts are what scores are kept by.
        first = [by_id[each] for each in before[: self.top_n].content_hashes if each in by_id]
        scores = await self._scores(query, first, chunks)
        if isinstance(scores, Missing):
            return replace(ranking, not_reranked=(scores.reason,))
        scored = dict(zip([memory.content_hash for memory in first], scores, strict=True))
        fused, factors = rerank(before, scored, self.weight, self.top_n), {}
        if ranking.before_updates is not None:
            fused, factors = lift_updates_among(fused, self.top_n, first)
        return replace(
            ranking, fused=fused, update_factors=factors, first_stage=ranking.fused, rerank_weight=self.weight
        )

    async def reranked(self, cutting: Coroutine[Any, Any, Page], query: str) -> Page:
        """A page of the ranking in its new order; the store is not held while the model reads."""
        page = await cutting
        if not page.memories:
            return page
        return page.of(await self.rerank(page.ranking, query, page.memories, page.chunks))

    async def warm_up(self) -> None:
        try:
            await self.reranker.warm_up()
        except RerankerUnavailable as error:  # each search says so by itself
            logger.warning("Searches are not re-ranked for now: %s", error.message)

    async def _scores(
        self, query: str, memories: Sequence[Memory], chunks: ChunkSimilarities
    ) -> Sequence[float] | Missing:
        try:
            async with asyncio.timeout(self.timeout_seconds):
                # Of long contents every word is read: not in the event loop.
                texts = await asyncio.to_thread(lambda: [_text(memory, query, chunks) for memory in memories])
                key = hashlib.sha256(json.dumps([query, *texts]).encode()).digest()
                scores = self.kept.get(key)
                if scores is None:
                    scores = await self.reranker.scores(query, texts)
                    self.kept.put(key, scores)
                return scores
        except TimeoutError as error:
            return Missing(note("rerank_timed_out", error))
        except RerankerUnavailable as error:
            return Missing(note("rerank_unavailable", error))


def _text(memory: Memory, query: str, chunks: ChunkSimilarities) -> str:
    """A content, or of a long one what the answer shows of it; for a chunk of a document after its headings."""
    text = memory.content
    if len(text) > MAX_PASSAGE_CHARS:
        passages = passages_of(memory, query, chunks.by_id.get(memory.content_hash, ()))
        text = " … ".join([passage.text for passage in passages])
    return f"{memory.heading}\n\n{text}" if memory.heading else text
