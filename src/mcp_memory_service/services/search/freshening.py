"""Results weighed by whether their files still have them, after the store is let go: files are looked at."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from ...hybrid_search import RankingPolicy, only, weigh_first
from ...models import FRESHNESS_FACTORS, KINDS_OF_FILES, WEIGHED_FIRST, WEIGHED_FOR_FLOOR, Freshness, Memory, SearchRequest, is_as_fresh
from ..sources.freshness import freshness_or_age
from .ranking import Page



def looked_at(request: SearchRequest) -> int:
    return WEIGHED_FIRST if request.freshness_floor is None else WEIGHED_FOR_FLOOR


def is_weighed(request: SearchRequest, policy: RankingPolicy) -> bool:
    """Where the kind `code` is asked for, or freshness itself; the ranking `context` weighs notes as well."""
    return "code" in request.kinds or request.freshness_floor is not None or policy.ranking == "context"


async def weighed(cutting: Coroutine[Any, Any, Page], request: SearchRequest, policy: RankingPolicy, now: int) -> Page:
    """The page of the ranking with the factors of its first memories, or of those alone that are fresh enough."""
    page = await cutting
    ranking = page.ranking
    first = looked_at(request)
    leading = set(ranking.fused[:first].content_hashes)
    memories = [memory for memory in page.memories if memory.content_hash in leading]
    found = await asyncio.to_thread(freshness_or_age, memories, now)
    freshness: dict[str, Freshness] = {memory.content_hash: each for memory, each in zip(memories, found, strict=True)}
    factors = _factors(memories, found, policy)
    fused, floor = weigh_first(ranking.fused, factors, first), request.freshness_floor
    if floor is not None:
        fused = only(fused, {each for each, label in freshness.items() if is_as_fresh(label, floor)})
        page = replace(page, paging=replace(page.paging, total=len(fused)))
    return page.of(replace(ranking, fused=fused, freshness=freshness, freshness_factors=factors))


def _factors(memories: Sequence[Memory], found: Sequence[Freshness], policy: RankingPolicy) -> dict[str, float]:
    """By id. A note that has changed is still the best answer until it is read again (docs/adr/0027)."""
    weighs = KINDS_OF_FILES if policy.ranking == "context" else ("code",)
    return {
        memory.content_hash: FRESHNESS_FACTORS[label]
        for memory, label in zip(memories, found, strict=True)
        if memory.kind in weighs
    }
