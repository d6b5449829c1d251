"""What all tools share: annotations, errors that reach the model, and no argument that is silently ignored."""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult, Tool, ToolAnnotations
from pydantic import ValidationError

from ..access.caller import Caller
from ..access.doors import admitted, require_declared
from ..errors import InvalidInput, MemoryServiceError
from ..models import MAX_METADATA_CHARS
from ..schemas import MAX_ERRORS, explained, shortened, unlisted
from ..services import MemoryService
from .tool_schemas import lean_schema, one_line

READ = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADD = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CHANGE = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


class ServedTool(NamedTuple):
    """A tool as a toolset declares it; its name, arguments and description are those of the function."""

    call: Callable[..., Awaitable[CallToolResult]]
    title: str
    annotations: ToolAnnotations


NAMESPACE_ARGUMENT = {"type": "string", "description": "Which namespace; leave out for your own"}

serving: ContextVar[MemoryService] = ContextVar("serving")
"""The service as the caller of the tool sees it, while the tool runs."""


class Toolset(Protocol):
    @property
    def tools(self) -> tuple[ServedTool, ...]: ...


class StrictServer(MCPServer[Any]):
    """A model that guesses the name of an argument is told so, instead of losing what it meant. Every tool acts for the
    caller of its request, or for `local_caller` where there is none (standard input and output)."""

    def __init__(self, service: MemoryService, local_caller: Caller, *, offers_namespace: bool, **named: Any) -> None:
        super().__init__(**named)
        self._service = service
        self._local_caller = local_caller
        self._offers_namespace = offers_namespace

    _known_arguments: Mapping[str, Mapping[str, Any]] = {}
    """Their schemas, by tool; filled when the first one is called."""

    def add_toolset(self, toolset: Toolset) -> None:
        require_declared(f"tool {tool.call.__name__}" for tool in toolset.tools)
        for tool in toolset.tools:
            said = one_line(tool.call.__doc__ or "")
            self.add_tool(tool.call, title=tool.title, description=said, annotations=tool.annotations)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        namespace = arguments.get("namespace")
        arguments = {key: value for key, value in arguments.items() if key != "namespace"}
        known = await self._arguments(name)
        if known is None:
            raise ToolError(f"Unknown tool: {shortened(name)}")
        _check_names(name, arguments, known)
        serving.set(self._service_for(name, context, namespace))
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

    async def list_tools(self) -> list[Tool]:
        tools = [
            tool.model_copy(update={"input_schema": lean_schema(tool.input_schema)})
            for tool in await super().list_tools()
        ]
        if not self._offers_namespace:
            return tools
        return [
            tool.model_copy(
                update={
                    "input_schema": {
                        **tool.input_schema,
                        "properties": {**tool.input_schema.get("properties", {}), "namespace": NAMESPACE_ARGUMENT},
                    }
                }
            )
            for tool in tools
        ]

    def _service_for(self, tool: str, context: Context[Any, Any] | None, namespace: object) -> MemoryService:
        """As the caller sees it; what they may not do is said to the model."""
        request = None if context is None else context.request_context.request
        caller: Caller = self._local_caller if request is None else request.scope["state"]["caller"]
        asked = namespace if namespace is not None else request and request.headers.get("x-namespace")
        try:
            if asked is not None and not isinstance(asked, str):
                raise InvalidInput("namespace must be a text.", reason="namespace_invalid", field="namespace")
            service = self._service.within(admitted(caller, f"tool {tool}", asked))
            return service.held_to(caller.tags, caller.max_memories)
        except MemoryServiceError as error:
            raise ToolError(f"{error.message} [{error.code}]") from error

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """The library takes a wrong name for a fault of the server: an internal error, with a traceback in the log."""
        if name not in {prompt.name for prompt in await self.list_prompts()}:
            raise MCPError(INVALID_PARAMS, "There is no such prompt.")
        return await super().get_prompt(name, arguments, context)

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
