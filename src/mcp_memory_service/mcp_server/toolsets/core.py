"""What an agent needs to remember and to find again."""

import asyncio
from typing import Annotated, Any

from mcp.types import CallToolResult
from pydantic import Field

from ...models import SHOWN_DIGITS, UNSET, ListRequest, MemoryDraft, MemoryPatch, SearchMode, SearchRequest
from ...schemas import Moment, TagList, microseconds
from ..answers import found_reply, listing_reply, memory_reply, overview_reply, reply, stored_reply
from ..fence import ours
from ..strict_server import ADD, CHANGE, READ, ServedTool, serving
from .arguments import (
    After_,
    AsOf_,
    Before_,
    Expiry,
    Id,
    Kinds,
    MetadataFilter,
    MinConfidence,
    NewExpiry,
    Page_,
    PageSize_,
    Query,
    Scope_,
    SearchedTags,
    Similarity,
    TagRule,
    Tags,
    Type,
    Types,
    named,
    new_expiry,
    required_metadata,
)


class CoreTools:
    def __init__(self, response_chars: int) -> None:
        self._response_chars = response_chars
        self.tools = (
            ServedTool(self.store_memory, "Store a memory", ADD),
            ServedTool(self.retrieve_memory, "Find memories", READ),
            ServedTool(self.get_memory, "Read one memory", READ),
            ServedTool(self.list_memories, "List memories", READ),
            ServedTool(self.update_memory, "Update a memory", CHANGE),
            ServedTool(self.delete_memory, "Delete a memory", CHANGE),
            ServedTool(self.memory_overview, "What is stored", READ),
        )

    async def store_memory(
        self,
        content: Annotated[str, Field(description="Understandable on its own")],
        tags: Annotated[TagList | None, Field(description="Project, tool, topic")] = None,
        memory_type: Annotated[str | None, Field(description="decision, fix, fact, preference, note")] = None,
        metadata: dict[str, Any] | None = None,
        created_at: Annotated[Moment | None, Field(description="If not now: ISO date")] = None,
        source: Annotated[str | None, Field(description="Who wrote it")] = None,
        session: Annotated[str | None, Field(description="The conversation it is from")] = None,
        sequence: Annotated[int | None, Field(description="Place in session")] = None,
        supersedes: Annotated[TagList | None, Field(description="ids that it takes the place of")] = None,
        pinned: Annotated[bool, Field(description="Part of every recall_context")] = False,
        expires_at: Expiry = None,
    ) -> CallToolResult:
        """Remember a text for later sessions: a decision with its reason, the fix of an error, a fact, a preference.
        Names similar memories; if it corrects one, use supersedes. The same text again only adds tags and metadata."""
        draft = MemoryDraft(
            content,
            tuple(tags or ()),
            memory_type,
            metadata or {},
            microseconds(created_at),
            source,
            session,
            sequence,
            pinned=pinned,
            expires_at=expires_at,
            supersedes=tuple(supersedes or ()),
        )
        return stored_reply(await serving.get().store_memory(draft), len(draft.supersedes))

    async def retrieve_memory(
        self,
        query: Query,
        page: Page_ = 1,
        page_size: PageSize_ = 10,
        tags: SearchedTags = None,
        memory_type: Type = None,
        min_similarity: Similarity = None,
        tag_match: TagRule = "any",
        after: After_ = None,
        before: Before_ = None,
        mode: Annotated[SearchMode, Field(description="semantic: meaning only; keyword: words only")] = "hybrid",
        alpha: Annotated[float | None, Field(ge=0, le=1, description="0 tags, 1 meaning")] = None,
        debug: Annotated[bool, Field(description="Say how scores came about")] = False,
        types: Types = None,
        session: str | None = None,
        source: str | None = None,
        metadata: MetadataFilter = None,
        include_superseded: bool = False,
        as_of: AsOf_ = None,
        min_confidence: MinConfidence = None,
        kinds: Kinds = None,
        scope: Scope_ = None,
    ) -> CallToolResult:
        """Find what is remembered about something, best first, by meaning, words and tags. The tool for nearly every
        question: call it before a task, and before you answer from memory. Says how sure it is."""
        request = SearchRequest(
            query,
            page,
            page_size,
            named(tags),
            memory_type,
            min_similarity,
            tag_match,
            after,
            before,
            mode,
            alpha,
            debug=debug,
            types=tuple(types or ()),
            session=session,
            source=source,
            metadata=required_metadata(metadata),
            include_superseded=include_superseded,
            as_of=as_of,
            min_confidence=min_confidence,
            kinds=tuple(kinds or ()),
            scope=scope,
        )
        return found_reply(await serving.get().search(request), self._response_chars)

    async def get_memory(
        self,
        id: Id,
        offset: Annotated[int, Field(ge=0, description="Character to start from")] = 0,
    ) -> CallToolResult:
        """Read one memory with all its details, or the rest of a text that was cut."""
        # What goes on is the text that was shown under this id, also if another has taken its place.
        memory = await (serving.get().get_version(id) if offset else serving.get().get_memory(id))
        return memory_reply(memory, offset, self._response_chars, asked=id)

    async def list_memories(
        self,
        page: Page_ = 1,
        page_size: PageSize_ = 10,
        tags: Tags = None,
        memory_type: Type = None,
        tag_match: TagRule = "any",
        after: After_ = None,
        before: Before_ = None,
        types: Types = None,
        session: str | None = None,
        source: str | None = None,
        metadata: MetadataFilter = None,
        include_superseded: bool = False,
    ) -> CallToolResult:
        """List memories newest first, by tag, type, session or time: what came lately, or all under a tag. To look for
        something use retrieve_memory."""
        request = ListRequest(
            page,
            page_size,
            tuple(tags or ()),
            memory_type,
            tag_match,
            after,
            before,
            types=tuple(types or ()),
            session=session,
            source=source,
            metadata=required_metadata(metadata),
            include_superseded=include_superseded,
        )
        return listing_reply(await serving.get().list_memories(request), self._response_chars)

    async def update_memory(
        self,
        id: Id,
        content: Annotated[str | None, Field(description="New text; the old one becomes history")] = None,
        tags: Annotated[TagList | None, Field(description="In place of the old")] = None,
        memory_type: Annotated[str | None, Field(description="Empty: none")] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description="Keys to set; null removes")] = None,
        pinned: bool | None = None,
        expires_at: NewExpiry = None,
    ) -> CallToolResult:
        """Correct or change one memory; what you leave out stays. A new text gets a new id; the old id still leads
        to it."""
        new_type = UNSET if memory_type is None else memory_type or None
        patch = MemoryPatch(named(tags), new_type, metadata, content, pinned, new_expiry(expires_at))
        memory = await serving.get().update_memory(id, patch)
        return reply(ours(f"Updated: id {memory.short_id}."))

    async def delete_memory(self, id: Id) -> CallToolResult:
        """Forget one memory that is wrong or was asked to be forgotten. For a fact that changed use update_memory."""
        deleted = (await serving.get().delete_memory(id))[:SHOWN_DIGITS]
        undo = " restore_memory brings it back." if serving.get().has_trash else ""
        return reply(ours(f"Deleted: id {deleted}.{undo}"))

    async def memory_overview(self) -> CallToolResult:
        """How much is stored, under which tags and types, what came last, and whether something is out of order. Call
        it to learn what to ask for."""
        overview, health = await asyncio.gather(serving.get().overview(), serving.get().health())
        return overview_reply(overview, health.problems)
