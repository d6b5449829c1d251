"""The tool by which an agent says whether a result was of use."""

from typing import Annotated

from mcp.types import CallToolResult, TextContent
from pydantic import Field

from ..strict_server import ADD, ServedTool, serving


class FeedbackTools:
    def __init__(self, _response_chars: int) -> None:
        self.tools = (ServedTool(self.rate_memory, "Rate a memory", ADD),)

    async def rate_memory(
        self,
        query: Annotated[str, Field(description="The query that was asked")],
        content_hash: Annotated[str, Field(description="The memory that was found, or should have been")],
        useful: Annotated[bool, Field(description="Whether it answered the query")],
    ) -> CallToolResult:
        """Note whether a memory answered a query, so that the owner can tune the search. Call it when a result of
        retrieve_memory clearly answered the question, or clearly did not; it changes no memory."""
        await serving.get().record_feedback(query, content_hash, useful=useful)
        return CallToolResult(content=[TextContent(text="Noted.")])
