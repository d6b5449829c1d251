"""What all tools share: annotations, errors that reach the model, and no argument that is silently ignored."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from ..errors import MemoryServiceError
from ..models import MAX_METADATA_CHARS
from ..schemas import MAX_ERRORS, explained, shortened, unlisted

READ = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADD = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CHANGE = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


class ServedTool(NamedTuple):
    """A tool as a toolset declares it; its name, arguments and description are those of the function."""

    call: Callable[..., Awaitable[CallToolResult]]
    title: str
    annotations: ToolAnnotations


class Toolset(Protocol):
    @property
    def tools(self) -> tuple[ServedTool, ...]: ...


class StrictServer(MCPServer[Any]):
    """A model that guesses the name of an argument is told so, instead of losing what it meant."""

    _known_arguments: Mapping[str, Mapping[str, Any]] = {}
    """Their schemas, by tool; filled when the first one is called."""

    def add_toolset(self, toolset: Toolset) -> None:
        for tool in toolset.tools:
            self.add_tool(tool.call, title=tool.title, annotations=tool.annotations)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        known = await self._arguments(name)
        if known is None:
            raise ToolError(f"Unknown tool: {shortened(name)}")
        _check_names(name, arguments, known)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError) and not isinstance(error, UnexpectedToolError):
                raise ToolError(f"{explained(cause)} [validation_failed]") from error
            # Our errors reach the model as a sentence with a stable code; the SDK masks and logs anything else.
            if isinstance(cause, MemoryServiceError):
                raise ToolError(f"{error}: {cause.message} [{cause.code}]") from error
            raise

    async def _arguments(self, tool: str) -> Mapping[str, Any] | None:
        """Those that it takes; None if there is no such tool. Listing the tools makes their schemas: once is enough."""
        if tool not in self._known_arguments:
            listed = await self.list_tools()
            self._known_arguments = {each.name: each.input_schema.get("properties", {}) for each in listed}
        return self._known_arguments.get(tool)


def _check_names(tool: str, arguments: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    if unknown := sorted(arguments.keys() - known.keys()):
        named = [repr(shortened(each)) for each in unknown[:MAX_ERRORS]]
        raise ToolError(
            f"{tool} has no argument {', '.join(named + unlisted(len(unknown)))}; it takes: {', '.join(known)}."
            " [unknown_argument]"
        )
    for name, value in arguments.items():
        # The SDK reads a text as JSON where no text is expected; longer than all metadata with escapes it may not be.
        if isinstance(value, str) and len(value) > 2 * MAX_METADATA_CHARS and known[name].get("type") != "string":
            raise ToolError(f"{name}: this text is too long [validation_failed]")
