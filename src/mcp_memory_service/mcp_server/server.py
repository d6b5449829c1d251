"""MCP tools over the service. The docstrings of the tools are written for the model that chooses among them."""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeAlias

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult
from pydantic import Field
from starlette.types import ASGIApp

from .. import __version__
from ..models import UNSET, MemoryDraft, MemoryPatch, SearchMode, SearchRequest
from ..schemas import After, Before, Moment, Page, PageSize, StatsOut, TagFilter, TypeFilter, microseconds
from ..services import MemoryService
from .response_budget import (
    DeletedOut,
    FittingHits,
    FittingList,
    MemoryPart,
    MemoryRef,
    fit_hits,
    fit_listing,
    fit_memory,
    reply,
)
from .strict_server import ADD, CHANGE, READ, StrictServer, errors_for_the_model
from .toolsets.feedback import add_feedback_tools
from .toolsets.search import add_search_tools

INSTRUCTIONS = """\
Long-term memory for this agent. Before answering from scratch, call retrieve_memory with the words of the task; names
of projects, tools and errors in the query find memories tagged with them. Store what will matter later with
store_memory: decisions and their reasons, fixes of errors, facts about projects, preferences. Storing the same text
twice is harmless."""

Tags: TypeAlias = Annotated[
    list[str] | None,
    Field(description="Only memories with these tags; leave out to find tags in the query; [] to ignore tags"),
]
Mode: TypeAlias = Annotated[
    SearchMode, Field(description="hybrid = meaning, words and tags; semantic = meaning only; keyword = words only")
]
ContentHash: TypeAlias = Annotated[str, Field(description="The content_hash of the memory, as other tools return it")]


def build_mcp_server(
    service: MemoryService, response_chars: int, toolsets: Collection[str] = ("core", "search")
) -> MCPServer[Any]:
    """A server whose tools call `service`; no answer is longer than about `response_chars`."""
    server = StrictServer(name="mcp-memory-service", title="Memory", version=__version__, instructions=INSTRUCTIONS)
    if "core" in toolsets:
        _add_store_tool(server, service)
        _add_changing_tools(server, service)
        _add_retrieve_tool(server, service, response_chars)
        _add_reading_tools(server, service, response_chars)
    if "search" in toolsets:
        add_search_tools(server, service, response_chars)
    if "feedback" in toolsets:
        add_feedback_tools(server, service)
    return server


@asynccontextmanager
async def http_sessions(server: MCPServer[Any]) -> AsyncGenerator[ASGIApp, None]:
    """The server as an ASGI handler for streamable HTTP, running until the block ends.

    Host and Origin are checked by the app around it, for REST and MCP alike. Stateless: every request stands for
    itself, so a restart of the service breaks no client.
    """
    off = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.streamable_http_app(stateless_http=True, transport_security=off)
    async with server.session_manager.run():
        yield server.session_manager.asgi_app


def _add_store_tool(server: MCPServer[Any], service: MemoryService) -> None:
    @server.tool(title="Store a memory", annotations=ADD)
    @errors_for_the_model
    async def store_memory(
        content: Annotated[str, Field(description="The text to remember, understandable on its own")],
        tags: Annotated[list[str] | None, Field(description="Names to find it by: project, tool, topic")] = None,
        memory_type: Annotated[str | None, Field(description="Such as decision, fix, fact, preference, note")] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description="Any further JSON object")] = None,
        created_at: Annotated[Moment | None, Field(description="When it came about, if not now (ISO 8601)")] = None,
        source: Annotated[str | None, Field(description="Who or what wrote it")] = None,
        session: Annotated[str | None, Field(description="The conversation it belongs to")] = None,
        sequence: Annotated[int | None, Field(description="Its place within that conversation")] = None,
    ) -> Annotated[CallToolResult, MemoryRef]:
        """Remember a text for later sessions. Use it for decisions with their reasons, fixes of errors, facts about a
        project, and preferences. Tag it with the names that a later question will use. The same text again is not
        stored twice: tags and metadata are united. Returns the content_hash of the memory."""
        outcome = await service.store_memory(
            MemoryDraft(
                content,
                tuple(tags or ()),
                memory_type,
                metadata or {},
                microseconds(created_at),
                source,
                session,
                sequence,
            )
        )
        return reply(outcome.summary, MemoryRef.of(outcome.memory, created=outcome.created))


def _add_changing_tools(server: MCPServer[Any], service: MemoryService) -> None:
    @server.tool(title="Update a memory", annotations=CHANGE)
    @errors_for_the_model
    async def update_memory(
        content_hash: ContentHash,
        tags: Annotated[list[str] | None, Field(description="New tags, in place of the old ones")] = None,
        memory_type: Annotated[str | None, Field(description="New type; an empty string removes it")] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description="Keys to set; null removes a key")] = None,
    ) -> Annotated[CallToolResult, MemoryRef]:
        """Change the tags, type or metadata of a memory. Its text cannot change: store the new text with store_memory
        and delete the old memory instead."""
        new_type = UNSET if memory_type is None else memory_type or None
        patch = MemoryPatch(None if tags is None else tuple(tags), new_type, metadata)
        memory = await service.update_memory(content_hash, patch)
        return reply(f"Updated {memory.content_hash}.", MemoryRef.of(memory, created=False))

    @server.tool(title="Delete a memory", annotations=CHANGE)
    @errors_for_the_model
    async def delete_memory(content_hash: ContentHash) -> Annotated[CallToolResult, DeletedOut]:
        """Forget one memory for good, by its content_hash. Use it for what is wrong or was asked to be forgotten."""
        await service.delete_memory(content_hash)
        return reply(f"Deleted {content_hash}.", DeletedOut(content_hash=content_hash, deleted=True))


def _add_retrieve_tool(server: MCPServer[Any], service: MemoryService, response_chars: int) -> None:
    @server.tool(title="Find memories", annotations=READ)
    @errors_for_the_model
    async def retrieve_memory(
        query: Annotated[str, Field(description="What to look for; name the project, tool or error if you can")],
        page: Page = 1,
        page_size: PageSize = 10,
        tags: Tags = None,
        memory_type: TypeFilter = None,
        min_similarity: Annotated[float | None, Field(ge=-1, le=1, description="Least similarity in meaning")] = None,
        tag_match: TagFilter = "any",
        after: After = None,
        before: Before = None,
        mode: Mode = "hybrid",
        alpha: Annotated[float | None, Field(ge=0, le=1, description="1 = meaning only, 0 = tags only")] = None,
        debug: Annotated[bool, Field(description="Add how each score came about")] = False,
    ) -> Annotated[CallToolResult, FittingHits]:
        """Find what is remembered about something, best first, by meaning, words and the tags that the query names.
        Call it before starting a task or answering a question about a project. Returns texts with score, tags, date
        and content_hash; a long text may be cut (content_cut), get_memory has all of it."""
        found = await service.search(
            SearchRequest(
                query,
                page,
                page_size,
                None if tags is None else tuple(tags),
                memory_type,
                min_similarity,
                tag_match,
                microseconds(after),
                microseconds(before),
                mode,
                alpha,
                debug=debug,
            )
        )
        return reply(*fit_hits(found, response_chars))


def _add_reading_tools(server: MCPServer[Any], service: MemoryService, response_chars: int) -> None:
    @server.tool(title="List memories", annotations=READ)
    @errors_for_the_model
    async def list_memories(
        page: Page = 1,
        page_size: PageSize = 10,
        tags: Annotated[list[str] | None, Field(description="Only memories with these tags")] = None,
        memory_type: TypeFilter = None,
        tag_match: TagFilter = "any",
        after: After = None,
        before: Before = None,
    ) -> Annotated[CallToolResult, FittingList]:
        """List memories newest first, optionally by tag, type or time. Use it to see what was stored lately or all
        that is known under a tag; use retrieve_memory to look for something."""
        listing = await service.list_memories(
            page,
            page_size,
            tags or (),
            memory_type,
            tag_match=tag_match,
            after=microseconds(after),
            before=microseconds(before),
        )
        return reply(*fit_listing(listing, response_chars))

    @server.tool(title="Read one memory", annotations=READ)
    @errors_for_the_model
    async def get_memory(
        content_hash: ContentHash,
        offset: Annotated[int, Field(ge=0, description="Character to start from, for a text that comes in parts")] = 0,
    ) -> Annotated[CallToolResult, MemoryPart]:
        """Read one memory in full, by its content_hash. A long text comes in parts: call again with next_offset."""
        return reply(*fit_memory(await service.get_memory(content_hash), offset, response_chars))

    @server.tool(title="Memory statistics", annotations=READ)
    @errors_for_the_model
    async def get_stats() -> Annotated[CallToolResult, StatsOut]:
        """How many memories and tags there are, of which types, from when to when."""
        stats = StatsOut.of(await service.stats())
        return reply(f"{stats.memories} memories, {stats.tags} tags, {stats.size_bytes} bytes.", stats)
