"""What all tools, prompts and resources share: who asks, errors that reach the model, and no argument that is silently
ignored."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextContent,
    Tool,
    ToolAnnotations,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import AnyUrl, ValidationError

from ..access.caller import Caller
from ..access.doors import admitted, require_declared
from ..access.error_table import ERROR_TABLE
from ..errors import InvalidInput, MemoryNotFound, MemoryServiceError
from ..schemas import explained, shortened
from ..services import MemoryService
from ..services.write.checks import MAX_NAME_CHARS
from .arguments import require_known, taken_arguments
from .fence import ours
from .tool_schemas import lean_schema, one_line

READ = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADD = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CHANGE = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


class ServedTool(NamedTuple):
    """A tool as a toolset declares it; its name, arguments and description are those of the function."""

    call: Callable[..., Awaitable[CallToolResult]]
    title: str
    annotations: ToolAnnotations


class ServedPrompt(NamedTuple):
    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    text: Callable[..., Awaitable[str]]
    """Takes the arguments by name; what it gives is said in the name of the user."""


class ServedResource(NamedTuple):
    uri: str
    """Or a template such as `memory://{id}`, whose names are the arguments of `text`."""
    name: str
    title: str
    description: str
    text: Callable[..., Awaitable[str]]


RESOURCE_NOT_FOUND = -32002
"""Up to protocol 2025-11-25; since 2026-07-28 it is one of INVALID_PARAMS."""
PLAIN = "text/plain"
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
        self._prompts: dict[str, ServedPrompt] = {}
        self._resources: list[tuple[UriTemplate, ServedResource]] = []

    _known_arguments: Mapping[str, Mapping[str, Any]] = {}
    """Their schemas, by tool; filled when the first one is called."""

    def add_toolset(self, toolset: Toolset) -> None:
        require_declared(f"tool {tool.call.__name__}" for tool in toolset.tools)
        for tool in toolset.tools:
            said = one_line(tool.call.__doc__ or "")
            self.add_tool(tool.call, title=tool.title, description=said, annotations=tool.annotations)

    def add_prompts(self, prompts: Iterable[ServedPrompt]) -> None:
        self._prompts |= {prompt.name: prompt for prompt in prompts}
        require_declared(f"prompt {name}" for name in self._prompts)

    def add_resources(self, resources: Iterable[ServedResource]) -> None:
        """The first whose URI fits is read."""
        self._resources += [(UriTemplate.parse(resource.uri), resource) for resource in resources]
        require_declared(f"resource {resource.uri}" for _, resource in self._resources)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        namespace = arguments.get("namespace")
        arguments = {key: value for key, value in arguments.items() if key != "namespace"}
        known = await self._arguments(name)
        if known is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {shortened(name)}")
        taken = taken_arguments(name, arguments, known)
        if name == "store_memory" and taken.values.get("source") is None:
            taken.values["source"] = _client_name(context)
        try:
            serving.set(self._service_for(f"tool {name}", context, namespace))
        except MemoryServiceError as error:
            raise ToolError(f"{error.message} [{error.code}]") from error
        return _noted(await self._run(name, taken.values, context), taken.note)

    async def _run(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None
    ) -> CallToolResult | InputRequiredResult:
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

    async def list_prompts(self) -> list[Prompt]:
        return [
            Prompt(name=each.name, title=each.title, description=each.description, arguments=list(each.arguments))
            for each in self._prompts.values()
        ]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        prompt, arguments = self._prompts.get(name), arguments or {}
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {shortened(name)}")
        _check_prompt_arguments(prompt, arguments)
        try:
            serving.set(self._service_for(f"prompt {name}", context))
            text = await prompt.text(**arguments)
        except MemoryServiceError as error:
            raise _protocol_error(error) from error
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(description=prompt.description, messages=[message])

    async def list_resources(self) -> list[Resource]:
        return [
            Resource(uri=each.uri, name=each.name, title=each.title, description=each.description, mime_type=PLAIN)
            for template, each in self._resources
            if not template.variables
        ]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        return [
            ResourceTemplate(
                uri_template=each.uri, name=each.name, title=each.title, description=each.description, mime_type=PLAIN
            )
            for template, each in self._resources
            if template.variables
        ]

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        matches = ((template.match(str(uri)), resource) for template, resource in self._resources)
        fitting = [(arguments, resource) for arguments, resource in matches if arguments is not None]
        if not fitting:
            raise _unknown_resource(str(uri), context)
        arguments, resource = fitting[0]
        try:
            serving.set(self._service_for(f"resource {resource.uri}", context))
            text = await resource.text(**arguments)
        except MemoryNotFound as error:
            raise _unknown_resource(str(uri), context) from error
        except MemoryServiceError as error:
            raise _protocol_error(error) from error
        return [ReadResourceContents(text, PLAIN)]

    def _service_for(self, door: str, context: Context[Any, Any] | None, namespace: object = None) -> MemoryService:
        """As the caller sees it."""
        request = None if context is None else context.request_context.request
        caller: Caller = self._local_caller if request is None else request.scope["state"]["caller"]
        asked = namespace if namespace is not None else request and request.headers.get("x-namespace")
        if asked is not None and not isinstance(asked, str):
            raise InvalidInput("namespace must be a text.", reason="namespace_invalid", field="namespace")
        service = self._service.within(admitted(caller, door, asked))
        return service.held_to(caller.tags, caller.max_memories)

    async def _arguments(self, tool: str) -> Mapping[str, Any] | None:
        """Those that it takes; None if there is no such tool. Listing the tools makes their schemas: once is enough."""
        if tool not in self._known_arguments:
            listed = await self.list_tools()
            self._known_arguments = {each.name: each.input_schema.get("properties", {}) for each in listed}
        return self._known_arguments.get(tool)


def shown(result: CallToolResult) -> str:
    """What a tool answered, as the model reads it."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def _noted(result: CallToolResult | InputRequiredResult, note: str | None) -> CallToolResult | InputRequiredResult:
    """With a sentence more."""
    if note is None or isinstance(result, InputRequiredResult):
        return result
    *before, last = result.content
    assert isinstance(last, TextContent), "what a tool answers ends with a text"
    return result.model_copy(
        update={"content": [*before, last.model_copy(update={"text": f"{last.text}\n{ours(note)}"})]}
    )


def _client_name(context: Context[Any, Any] | None) -> str | None:
    """As the client called itself in the handshake or, since 2026-07-28, in the request, if it fits a name. Over HTTP
    with a handshake it is not known: no request remembers an earlier one."""
    params = None if context is None else context.request_context.session.client_params
    name = "" if params is None else "".join(filter(str.isprintable, params.client_info.name))
    return name[:MAX_NAME_CHARS].strip() or None


def _check_prompt_arguments(prompt: ServedPrompt, sent: Mapping[str, Any]) -> None:
    takes = [argument.name for argument in prompt.arguments]
    try:
        require_known(prompt.name, sent.keys() - takes, takes)
    except ToolError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in sent]
    if missing:
        raise MCPError(INVALID_PARAMS, f"{prompt.name} needs the argument {', '.join(missing)}.")


def _protocol_error(error: MemoryServiceError) -> MCPError:
    """For prompts and resources, which have no result that is an error."""
    is_ours = ERROR_TABLE[type(error)].status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return MCPError(INTERNAL_ERROR if is_ours else INVALID_PARAMS, f"{error.message} [{error.code}]")


def _unknown_resource(uri: str, context: Context[Any, Any] | None) -> MCPError:
    is_old = context is not None and context.request_context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    code = RESOURCE_NOT_FOUND if is_old else INVALID_PARAMS
    writable = uri.encode("utf-8", "replace").decode()
    return MCPError(code, f"Unknown resource: {shortened(uri)}", data={"uri": writable})
