"""Search tools that name their signal, beside retrieve_memory."""

from dataclasses import replace
from typing import Annotated, TypeAlias

from mcp.types import CallToolResult
from pydantic import Field

from ...models import SearchRequest
from ...schemas import PageSize, TagList, TypeFilter
from ...services.write.checks import DEFAULT_FTS_WEIGHT, DEFAULT_VECTOR_WEIGHT
from ..response_budget import FittingHits, fit_hits, reply
from ..strict_server import READ, ServedTool, serving

DEFAULT_LIMIT = 20
DEFAULT_THRESHOLD = 0.3

Query: TypeAlias = Annotated[str, Field(description='What to look for; "quoted words" must stand together')]
Weight: TypeAlias = Annotated[float, Field(ge=0, le=1, description="Weight of this signal, 0 to 1")]
Threshold: TypeAlias = Annotated[float, Field(ge=-1, le=1, description="Least similarity in meaning")]
TagsFilter: TypeAlias = Annotated[TagList | None, Field(description="Only memories with these tags")]


class SearchTools:
    def __init__(self, response_chars: int) -> None:
        self._response_chars = response_chars
        self.tools = (
            ServedTool(self.hybrid_search, "Search by meaning and words", READ),
            ServedTool(self.semantic_search, "Search by meaning", READ),
            ServedTool(self.keyword_search, "Search by words", READ),
        )

    async def hybrid_search(
        self,
        query: Query,
        limit: PageSize = DEFAULT_LIMIT,
        fts_weight: Weight = DEFAULT_FTS_WEIGHT,
        vector_weight: Weight = DEFAULT_VECTOR_WEIGHT,
        vector_threshold: Threshold = DEFAULT_THRESHOLD,
        tags: TagsFilter = None,
        memory_type: TypeFilter = None,
    ) -> Annotated[CallToolResult, FittingHits]:
        """Search by words and by meaning with weights of your own. For most questions retrieve_memory is better, as it
        chooses the weights by itself; use this when results lean too much to one side."""
        request = _request(query, limit, tags, memory_type)
        return await self._found(
            replace(request, min_similarity=vector_threshold, fts_weight=fts_weight, vector_weight=vector_weight)
        )

    async def semantic_search(
        self,
        query: Query,
        limit: PageSize = DEFAULT_LIMIT,
        threshold: Threshold = DEFAULT_THRESHOLD,
        tags: TagsFilter = None,
        memory_type: TypeFilter = None,
    ) -> Annotated[CallToolResult, FittingHits]:
        """Search by meaning alone, for questions whose words may differ from those of the memory: "how does auth work"
        finds a note about verify_credentials. Not for exact names."""
        request = _request(query, limit, tags, memory_type)
        return await self._found(replace(request, min_similarity=threshold, mode="semantic"))

    async def keyword_search(
        self, query: Query, limit: PageSize = DEFAULT_LIMIT, tags: TagsFilter = None, memory_type: TypeFilter = None
    ) -> Annotated[CallToolResult, FittingHits]:
        """Search for exact words: names of functions and files, error codes and messages, versions. Finds nothing that
        has none of the words."""
        return await self._found(replace(_request(query, limit, tags, memory_type), mode="keyword"))

    async def _found(self, request: SearchRequest) -> CallToolResult:
        return reply(*fit_hits(await serving.get().search(request), self._response_chars))


def _request(query: str, limit: int, tags: list[str] | None, memory_type: str | None) -> SearchRequest:
    """What the three tools have in common."""
    return SearchRequest(query, page_size=limit, tags=None if tags is None else tuple(tags), memory_type=memory_type)
