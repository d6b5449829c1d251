"""Tools that ask the code graph."""

from typing import Annotated, TypeAlias

from mcp.types import CallToolResult
from pydantic import Field

from ...models import Certainty
from ...services.code.answers import Detail, Direction, Relation
from ...services.code.questions import (
    MAX_CHAIN_DEPTH,
    MAX_DEPTH,
    MAX_LIMIT,
    Asked,
    CallsRequest,
    ChainRequest,
    ImpactRequest,
    LinkedRequest,
)
from ..code_answers import calls_reply, chain_reply, impact_reply, linked_reply, stats_reply
from ..strict_server import READ, ServedTool, serving

_UNSAID = Field(description="")

SymbolName: TypeAlias = Annotated[str, Field(description="Class.method, dotted name or file:line")]
Within: TypeAlias = Annotated[str | None, Field(description="Only symbols of this file or folder")]
Depth: TypeAlias = Annotated[int, Field(ge=1, le=MAX_DEPTH, description="")]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="")]
Shown: TypeAlias = Annotated[Detail, _UNSAID]
MinCertainty: TypeAlias = Annotated[Certainty, _UNSAID]
Kinds: TypeAlias = Annotated[list[Relation] | None, _UNSAID]


class CodeTools:
    def __init__(self, response_chars: int) -> None:
        self._response_chars = response_chars
        self.tools = (
            ServedTool(self.get_callers, "Callers", READ),
            ServedTool(self.get_callees, "Callees", READ),
            ServedTool(self.call_chain, "Chain of calls", READ),
            ServedTool(self.memory_linked_search, "Code with memories", READ),
            ServedTool(self.impact, "Impact of a change", READ),
            ServedTool(self.call_graph_stats, "What code is indexed", READ),
        )

    async def get_callers(
        self,
        symbol: SymbolName,
        path: Within = None,
        depth: Depth = 1,
        limit: Limit = 20,
        cursor: str | None = None,
        detail: Shown = "names",
        max_tokens: int | None = None,
        min_certainty: MinCertainty = "guess",
        kinds: Kinds = None,
    ) -> CallToolResult:
        """Who calls a function, at which lines, and how sure that is. Instead of grep, before you change it."""
        return await self._calls(
            "callers", symbol, path, depth, limit, cursor, detail, max_tokens, min_certainty, kinds
        )

    async def get_callees(
        self,
        symbol: SymbolName,
        path: Within = None,
        depth: Depth = 1,
        limit: Limit = 20,
        cursor: str | None = None,
        detail: Shown = "names",
        max_tokens: int | None = None,
        min_certainty: MinCertainty = "guess",
        kinds: Kinds = None,
    ) -> CallToolResult:
        """What a function calls, at which lines, and what of it could not be resolved."""
        return await self._calls(
            "callees", symbol, path, depth, limit, cursor, detail, max_tokens, min_certainty, kinds
        )

    async def call_chain(
        self,
        from_symbol: Annotated[str, _UNSAID],
        to_symbol: Annotated[str, _UNSAID],
        max_depth: Annotated[int, Field(ge=1, le=MAX_CHAIN_DEPTH, description="")] = 6,
    ) -> CallToolResult:
        """The shortest ways in which one function comes to call another."""
        request = ChainRequest(Asked(from_symbol), Asked(to_symbol), max_depth)
        return chain_reply(await serving.get().code_graph.chain(request))

    async def memory_linked_search(
        self,
        symbol: Annotated[str, Field(description="A symbol, or a question about code")],
        path: Within = None,
        limit: Limit = 10,
    ) -> CallToolResult:
        """A function with its callers and callees, and the decisions, errors and notes that mention it. Before you
        work on code."""
        request = LinkedRequest(Asked(symbol, path=path), limit)
        return linked_reply(await serving.get().code_graph.linked(request), self._response_chars)

    async def impact(self, symbol: SymbolName, path: Within = None, depth: Depth = 3) -> CallToolResult:
        """What a change may break: callers by depth, tests, past decisions and errors, files changed together, and a
        risk from 0 to 100."""
        request = ImpactRequest(Asked(symbol, path=path), depth)
        return impact_reply(await serving.get().code_graph.impact(request), self._response_chars)

    async def call_graph_stats(self) -> CallToolResult:
        """How much code is indexed, how far its calls are resolved, and whether files have changed since."""
        return stats_reply(await serving.get().code_graph.stats())

    async def _calls(
        self,
        direction: Direction,
        symbol: str,
        path: str | None,
        depth: int,
        limit: int,
        cursor: str | None,
        detail: Detail,
        max_tokens: int | None,
        min_certainty: Certainty,
        kinds: list[Relation] | None,
    ) -> CallToolResult:
        asked = Asked(symbol, path=path)
        wanted = tuple(kinds or ("calls",))
        request = CallsRequest(asked, direction, depth, limit, cursor, detail, max_tokens, min_certainty, wanted)
        return calls_reply(await serving.get().code_graph.calls(request), self._response_chars)
