"""What becomes of memories: context for a start, earlier versions, undoing, and changes of many."""

from typing import Annotated, TypeAlias

from mcp.types import CallToolResult
from pydantic import Field

from ...models import ListRequest
from ...schemas import TagList
from ..answers import bulk_reply, context_reply, history_reply, reply
from ..fence import ours
from ..strict_server import CHANGE, READ, ServedTool, serving
from .arguments import After_, Before_, Id, MetadataFilter, TagRule, Tags, Type, required_metadata

MAX_CHANGED = 100
"""Memories that a model may change by one call; the command line and REST have no such bound."""

Expected: TypeAlias = Annotated[
    int | None, Field(ge=0, le=MAX_CHANGED, description="How many it must be, up to 100; leave out to count them first")
]


class LifeTools:
    def __init__(self, response_chars: int) -> None:
        self._response_chars = response_chars
        self.tools = (
            ServedTool(self.recall_context, "Recall context", READ),
            ServedTool(self.memory_history, "History of a memory", READ),
            ServedTool(self.restore_memory, "Restore a memory", CHANGE),
            ServedTool(self.delete_memories, "Delete several memories", CHANGE),
            ServedTool(self.retag_memories, "Retag several memories", CHANGE),
        )

    async def recall_context(
        self, query: Annotated[str | None, Field(description="What the session is about")] = None
    ) -> CallToolResult:
        """What to know at the start of a session: all pinned memories, and what fits the query or came last. During the
        session use retrieve_memory."""
        return context_reply(await serving.get().recall_context(query), self._response_chars)

    async def memory_history(self, id: Id) -> CallToolResult:
        """Earlier versions of a memory and what it took the place of, newest first. To see what changed, and when."""
        return history_reply(await serving.get().memory_history(id), self._response_chars)

    async def restore_memory(self, id: Id) -> CallToolResult:
        """Bring back a memory that was deleted by mistake, as long as it is in the trash."""
        memory = await serving.get().restore_memory(id)
        return reply(ours(f"Restored: id {memory.short_id}."))

    async def delete_memories(
        self,
        tags: Tags = None,
        tag_match: TagRule = "any",
        memory_type: Type = None,
        session: str | None = None,
        source: str | None = None,
        after: After_ = None,
        before: Before_ = None,
        metadata: MetadataFilter = None,
        expected_count: Expected = None,
    ) -> CallToolResult:
        """Delete all memories that pass the filters. Call it twice: first without expected_count, which only counts
        them, then with it. For one memory use delete_memory."""
        request = _filter(tags, tag_match, memory_type, session, source, after, before, metadata)
        outcome = await serving.get().delete_matching(request, expected_count)
        return bulk_reply(outcome, "deleted", MAX_CHANGED, confirmed=expected_count is not None)

    async def retag_memories(
        self,
        add: TagList | None = None,
        remove: TagList | None = None,
        tags: Tags = None,
        tag_match: TagRule = "any",
        memory_type: Type = None,
        session: str | None = None,
        source: str | None = None,
        after: After_ = None,
        before: Before_ = None,
        metadata: MetadataFilter = None,
        expected_count: Expected = None,
    ) -> CallToolResult:
        """Add tags to all memories that pass the filters, and remove others. Call it twice: first without
        expected_count, which only counts them. For one memory use update_memory."""
        request = _filter(tags, tag_match, memory_type, session, source, after, before, metadata)
        outcome = await serving.get().retag_matching(request, add or (), remove or (), expected_count)
        return bulk_reply(outcome, "retagged", MAX_CHANGED, confirmed=expected_count is not None)


def _filter(
    tags: Tags,
    tag_match: TagRule,
    memory_type: Type,
    session: str | None,
    source: str | None,
    after: After_,
    before: Before_,
    metadata: MetadataFilter,
) -> ListRequest:
    return ListRequest(
        tags=tuple(tags or ()),
        tag_match=tag_match,
        memory_type=memory_type,
        session=session,
        source=source,
        after=after,
        before=before,
        metadata=required_metadata(metadata),
    )
