"""Search tools that name their signal, beside retrieve_memory, and why a memory was found or not."""

from dataclasses import replace
from typing import Annotated, TypeAlias

from mcp.types import CallToolResult
from pydantic import Field

from ...models import SearchRequest
from ...schemas import PageSize
from ...services.write.checks import DEFAULT_FTS_WEIGHT, DEFAULT_VECTOR_WEIGHT
from ..answers import explanation_reply, found_reply
from ..strict_server import READ, ServedTool, serving
from .arguments import Id, Query, Tags, Type, named

DEFAULT_LIMIT = 20
DEFAULT_THRESHOLD = 0.3

Limit: TypeAlias = Annotated[PageSize, Field(description="Up to 100")]
Weight: TypeAlias = Annotated[float, Field(ge=0, le=1, description="0 to 1")]
Threshold: TypeAlias = Annotated[float, Field(ge=-1, le=1, description="Least similarity")]


class SearchTools:
    def __init__(self, response_chars: int) -> None:
        self._response_chars = response_chars
        self.tools = (
            ServedTool(self.hybrid_search, "Search by meaning and words", READ),
            ServedTool(self.semantic_search, "Search by meaning", READ),
            ServedTool(self.keyword_search, "Search by words", READ),
            ServedTool(self.explain_memory, "Why a memory is found", READ),
        )

    async def hybrid_search(
        self,
        query: Query,
        limit: Limit = DEFAULT_LIMIT,
        fts_weight: Weight = DEFAULT_FTS_WEIGHT,
        vector_weight: Weight = DEFAULT_VECTOR_WEIGHT,
        vector_threshold: Threshold = DEFAULT_THRESHOLD,
        tags: Tags = None,
        memory_type: Type = None,
    ) -> CallToolResult:
        """Search by words and meaning with weights of your own, when retrieve_memory, which chooses them, leans too far
        to one side."""
        request = _request(query, limit, tags, memory_type)
        return await self._found(
            replace(request, min_similarity=vector_threshold, fts_weight=fts_weight, vector_weight=vector_weight)
        )

    async def semantic_search(
        self,
        query: Query,
        limit: Limit = DEFAULT_LIMIT,
        threshold: Threshold = DEFAULT_THRESHOLD,
        tags: Tags = None,
        memory_type: Type = None,
    ) -> CallToolResult:
        """Search by meaning alone, when the memory may use other words than the question. Not for exact names."""
        request = _request(query, limit, tags, memory_type)
        return await self._found(replace(request, min_similarity=threshold, mode="semantic"))

    async def keyword_search(
        self, query: Query, limit: Limit = DEFAULT_LIMIT, tags: Tags = None, memory_type: Type = None
    ) -> CallToolResult:
        """Search for exact words: names of functions and files, error codes, versions. Words in "quotes" must stand
        together."""
        return await self._found(replace(_request(query, limit, tags, memory_type), mode="keyword"))

    async def explain_memory(
        self,
        query: Query,
        id: Id,
        tags: Tags = None,
        memory_type: Type = None,
    ) -> CallToolResult:
        """Why retrieve_memory puts a memory where it does for a query, or leaves it out. For surprising results."""
        request = SearchRequest(query, tags=named(tags), memory_type=memory_type)
        return explanation_reply(await serving.get().explain(request, id))

    async def _found(self, request: SearchRequest) -> CallToolResult:
        return found_reply(await serving.get().search(request), self._response_chars)


def _request(query: str, limit: int, tags: list[str] | None, memory_type: str | None) -> SearchRequest:
    """What the three tools have in common."""
    return SearchRequest(query, page_size=limit, tags=named(tags), memory_type=memory_type)
