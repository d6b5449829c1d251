"""What all tools share: annotations, errors that reach the model, and no argument that is silently ignored."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec

from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from ..errors import MemoryServiceError, error_code

P = ParamSpec("P")

READ = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADD = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CHANGE = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


class StrictServer(MCPServer[Any]):
    """A model that guesses the name of an argument is told so, instead of losing what it meant."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        for tool in await self.list_tools():
            known = tool.input_schema.get("properties", {})
            unknown = sorted(arguments.keys() - known.keys())
            if tool.name == name and unknown:
                raise ToolError(
                    f"{name} has no argument {', '.join(map(repr, unknown))}; it takes: {', '.join(known)}."
                    " [unknown_argument]"
                )
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            raise ToolError(f"{_explained(error.__cause__)} [validation_failed]") from error


def errors_for_the_model(tool: Callable[P, Awaitable[CallToolResult]]) -> Callable[P, Awaitable[CallToolResult]]:
    """Our errors reach the model as a sentence with a stable code; anything else is masked and logged by the SDK."""

    @wraps(tool)
    async def guarded(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            return await tool(*args, **kwargs)
        except MemoryServiceError as error:
            raise ToolError(f"{error.message} [{error_code(error)}]") from error

    return guarded


def _explained(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems)
