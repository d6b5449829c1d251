"""The MCP resources: what a client can attach to a conversation without a tool being called."""

from .strict_server import ServedResource, shown
from .toolsets.core import CoreTools


class MemoryResources:
    def __init__(self, response_chars: int) -> None:
        self._tools = CoreTools(response_chars)
        self.resources = (
            ServedResource(
                "memory://overview", "overview", "Overview of the memories", "How much is remembered", self.overview
            ),
            ServedResource("memory://{id}", "memory", "One memory", "A memory, by its id", self.memory),
        )

    async def overview(self) -> str:
        return shown(await self._tools.memory_overview())

    async def memory(self, id: str) -> str:
        return shown(await self._tools.get_memory(id))
