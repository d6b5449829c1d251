"""What an agent needs to remember and to find again."""

from typing import Annotated, Any, TypeAlias

from mcp.types import CallToolResult
from pydantic import Field

from ...models import UNSET, ListRequest, MemoryDraft, MemoryPatch, SearchMode, SearchRequest
from ...schemas import After, Before, Moment, Page, PageSize, StatsOut, TagFilter, TagList, TypeFilter, microseconds
from ..response_budget import (
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
from ..strict_server import ADD, CHANGE, READ, ServedTool, serving

Tags: TypeAlias = Annotated[
    TagList | None,
    Field(description="Only memories with these tags; leave out to find tags in the query; [] to ignore tags"),
]
Mode: TypeAlias = Annotated[
    SearchMode, Field(description="hybrid = meaning, words and tags; semantic = meaning only; keyword = words only")
]
ContentHash: TypeAlias = Annotated[str, Field(description="The content_hash of the memory, as other tools return it")]


class CoreTools:
    def __init__(self, response_chars: int) -> None:
        self._response_chars = response_chars
        self.tools = (
            ServedTool(self.store_memory, "Store a memory", ADD),
            ServedTool(self.update_memory, "Update a memory", CHANGE),
            ServedTool(self.delete_memory, "Delete a memory", CHANGE),
            ServedTool(self.retrieve_memory, "Find memories", READ),
            ServedTool(self.list_memories, "List memories", READ),
            ServedTool(self.get_memory, "Read one memory", READ),
            ServedTool(self.get_stats, "Memory statistics", READ),
        )

    async def store_memory(
        self,
        content: Annotated[str, Field(description="The text to remember, understandable on its own")],
        tags: Annotated[TagList | None, Field(description="Names to find it by: project, tool, topic")] = None,
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
        named, moment = tuple(tags or ()), microseconds(created_at)
        draft = MemoryDraft(content, named, memory_type, metadata or {}, moment, source, session, sequence)
        outcome = await serving.get().store_memory(draft)
        return reply(outcome.summary, MemoryRef.of(outcome.memory, created=outcome.created))

    async def update_memory(
        self,
        content_hash: ContentHash,
        tags: Annotated[TagList | None, Field(description="New tags, in place of the old ones")] = None,
        memory_type: Annotated[str | None, Field(description="New type; an empty string removes it")] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description="Keys to set; null removes a key")] = None,
    ) -> Annotated[CallToolResult, MemoryRef]:
        """Change the tags, type or metadata of a memory. Its text cannot change: store the new text with store_memory
        and delete the old memory instead."""
        new_type = UNSET if memory_type is None else memory_type or None
        patch = MemoryPatch(None if tags is None else tuple(tags), new_type, metadata)
        memory = await serving.get().update_memory(content_hash, patch)
        return reply(f"Updated {memory.content_hash}.", MemoryRef.of(memory, created=False))

    async def delete_memory(self, content_hash: ContentHash) -> Annotated[CallToolResult, DeletedOut]:
        """Forget one memory for good, by its content_hash. Use it for what is wrong or was asked to be forgotten."""
        await serving.get().delete_memory(content_hash)
        return reply(f"Deleted {content_hash}.", DeletedOut(content_hash=content_hash, deleted=True))

    async def retrieve_memory(
        self,
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
        request = SearchRequest(
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
        return reply(*fit_hits(await serving.get().search(request), self._response_chars))

    async def list_memories(
        self,
        page: Page = 1,
        page_size: PageSize = 10,
        tags: Annotated[TagList | None, Field(description="Only memories with these tags")] = None,
        memory_type: TypeFilter = None,
        tag_match: TagFilter = "any",
        after: After = None,
        before: Before = None,
    ) -> Annotated[CallToolResult, FittingList]:
        """List memories newest first, optionally by tag, type or time. Use it to see what was stored lately or all
        that is known under a tag; use retrieve_memory to look for something."""
        since, until = microseconds(after), microseconds(before)
        request = ListRequest(page, page_size, tuple(tags or ()), memory_type, tag_match, since, until)
        return reply(*fit_listing(await serving.get().list_memories(request), self._response_chars))

    async def get_memory(
        self,
        content_hash: ContentHash,
        offset: Annotated[int, Field(ge=0, description="Character to start from, for a text that comes in parts")] = 0,
    ) -> Annotated[CallToolResult, MemoryPart]:
        """Read one memory in full, by its content_hash. A long text comes in parts: call again with next_offset."""
        return reply(*fit_memory(await serving.get().get_memory(content_hash), offset, self._response_chars))

    async def get_stats(self) -> Annotated[CallToolResult, StatsOut]:
        """How many memories and tags there are, of which types, from when to when."""
        stats = StatsOut.of(await serving.get().stats())
        return reply(f"{stats.memories} memories, {stats.tags} tags, {stats.size_bytes} bytes.", stats)
