"""Search tools that name their signal, beside retrieve_memory."""

from typing import Annotated, Any, TypeAlias

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from ...models import SearchRequest
from ...schemas import PageSize, TypeFilter
from ...services import MemoryService
from ...services.write.checks import DEFAULT_FTS_WEIGHT, DEFAULT_VECTOR_WEIGHT
from ..response_budget import FittingHits, fit_hits, reply
from ..strict_server import READ, errors_for_the_model

DEFAULT_LIMIT = 20
DEFAULT_THRESHOLD = 0.3

Query: TypeAlias = Annotated[str, Field(description='What to look for; "quoted words" must stand together')]
Weight: TypeAlias = Annotated[float, Field(ge=0, le=1, description="Weight of this signal, 0 to 1")]
Threshold: TypeAlias = Annotated[float, Field(ge=-1, le=1, description="Least similarity in meaning")]
TagsFilter: TypeAlias = Annotated[list[str] | None, Field(description="Only memories with these tags")]


def _named(tags: list[str] | None) -> tuple[str, ...] | None:
    return None if tags is None else tuple(tags)


def add_search_tools(server: MCPServer[Any], service: MemoryService, response_chars: int) -> None:
    _add_hybrid_search(server, service, response_chars)
    _add_single_signal_searches(server, service, response_chars)


def _add_hybrid_search(server: MCPServer[Any], service: MemoryService, response_chars: int) -> None:
    @server.tool(title="Search by meaning and words", annotations=READ)
    @errors_for_the_model
    async def hybrid_search(
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
        found = await service.search(
            SearchRequest(
                query,
                page_size=limit,
                tags=_named(tags),
                memory_type=memory_type,
                min_similarity=vector_threshold,
                fts_weight=fts_weight,
                vector_weight=vector_weight,
            )
        )
        return reply(*fit_hits(found, response_chars))


def _add_single_signal_searches(server: MCPServer[Any], service: MemoryService, response_chars: int) -> None:
    @server.tool(title="Search by meaning", annotations=READ)
    @errors_for_the_model
    async def semantic_search(
        query: Query,
        limit: PageSize = DEFAULT_LIMIT,
        threshold: Threshold = DEFAULT_THRESHOLD,
        tags: TagsFilter = None,
        memory_type: TypeFilter = None,
    ) -> Annotated[CallToolResult, FittingHits]:
        """Search by meaning alone, for questions whose words may differ from those of the memory: "how does auth work"
        finds a note about verify_credentials. Not for exact names."""
        found = await service.search(
            SearchRequest(
                query,
                page_size=limit,
                tags=_named(tags),
                memory_type=memory_type,
                min_similarity=threshold,
                mode="semantic",
            )
        )
        return reply(*fit_hits(found, response_chars))

    @server.tool(title="Search by words", annotations=READ)
    @errors_for_the_model
    async def keyword_search(
        query: Query, limit: PageSize = DEFAULT_LIMIT, tags: TagsFilter = None, memory_type: TypeFilter = None
    ) -> Annotated[CallToolResult, FittingHits]:
        """Search for exact words: names of functions and files, error codes and messages, versions. Finds nothing that
        has none of the words."""
        found = await service.search(
            SearchRequest(query, page_size=limit, tags=_named(tags), memory_type=memory_type, mode="keyword")
        )
        return reply(*fit_hits(found, response_chars))
