"""What all tools share: how they are annotated and how their errors reach the model."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ToolAnnotations

from ..errors import MemoryServiceError, error_code

P = ParamSpec("P")

READ = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def errors_for_the_model(tool: Callable[P, Awaitable[CallToolResult]]) -> Callable[P, Awaitable[CallToolResult]]:
    """Our errors reach the model as a sentence with a stable code; anything else is masked and logged by the SDK."""

    @wraps(tool)
    async def guarded(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            return await tool(*args, **kwargs)
        except MemoryServiceError as error:
            raise ToolError(f"{error.message} [{error_code(error)}]") from error

    return guarded
