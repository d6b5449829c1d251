"""The tool by which an agent says whether a result was of use."""

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from ..answers import reply
from ..strict_server import ADD, ServedTool, serving
from .arguments import Id


class FeedbackTools:
    def __init__(self, _response_chars: int) -> None:
        self.tools = (ServedTool(self.rate_memory, "Rate a memory", ADD),)

    async def rate_memory(
        self,
        query: Annotated[str, Field(description="As it was asked")],
        id: Id,
        useful: bool,
    ) -> CallToolResult:
        """Note whether a memory answered a query, so that the owner can tune the search. Call it when a result clearly
        did, or clearly did not; it changes no memory."""
        await serving.get().record_feedback(query, id, useful=useful)
        return reply("Noted.")
