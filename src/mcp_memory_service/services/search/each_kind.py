"""Each kind of memory searched by itself: rankings of their own, one after the other on a page."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from ...hybrid_search import surer
from ...models import KINDS_OF_FILES, LISTED_KINDS, SearchRequest
from .results import SearchResult


async def search_each_kind(
    request: SearchRequest, search: Callable[[SearchRequest], Awaitable[SearchResult]]
) -> SearchResult:
    """A page of each kind that was asked for, or of all, in this order; all else is said of the first."""
    kinds = tuple(dict.fromkeys(request.kinds)) or (*LISTED_KINDS, *KINDS_OF_FILES)
    found = [await search(replace(request, kinds=(kind,), per_kind=False)) for kind in kinds]
    confidence = found[0].confidence
    for each in found:
        confidence = surer(confidence, each.confidence)
    totals = {kind: each.paging.total for kind, each in zip(kinds, found, strict=True)}
    return replace(
        found[0],
        results=tuple(hit for each in found for hit in each.results),
        paging=replace(found[0].paging, total=sum(totals.values()), longest=max(totals.values())),
        totals=totals,
        confidence=confidence,
        cut=all(each.cut for each in found),
        degraded=tuple(dict.fromkeys(reason for each in found for reason in each.degraded)),
        contexts=tuple(dict.fromkeys(context for each in found for context in each.contexts)),
        took_ms=round(sum(each.took_ms for each in found), 3),
    )
