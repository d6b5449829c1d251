"""The tool by which an agent says whether a result was of use."""

from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from ...services import MemoryService
from ..strict_server import ADD, errors_for_the_model


def add_feedback_tools(server: MCPServer[Any], service: MemoryService) -> None:
    @server.tool(title="Rate a memory", annotations=ADD)
    @errors_for_the_model
    async def rate_memory(
        query: Annotated[str, Field(description="The query that was asked")],
        content_hash: Annotated[str, Field(description="The memory that was found, or should have been")],
        useful: Annotated[bool, Field(description="Whether it answered the query")],
    ) -> CallToolResult:
        """Note whether a memory answered a query, so that the owner can tune the search. Call it when a result of
        retrieve_memory clearly answered the question, or clearly did not; it changes no memory."""
        await service.record_feedback(query, content_hash, useful=useful)
        return CallToolResult(content=[TextContent(text="Noted.")])
