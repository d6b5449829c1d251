"""What goes out about the life of memories, and about all of them together."""

from pydantic import BaseModel, Field

from ..models import Memory
from ..services.outcomes import MAX_PINNED, BulkOutcome, Context, Overview
from .answers import ListedOut, MemoryOut, RetrieveOut, StatsOut, TagOut, TagsOut

MAX_BULK_IDS = 100
"""Listed in an answer about many."""


class HistoryOut(BaseModel):
    versions: list[MemoryOut] = Field(description="The one that holds now first, then the latest")

    @classmethod
    def of(cls, versions: list[Memory]) -> "HistoryOut":
        return cls(versions=[MemoryOut.of(memory) for memory in versions])


class BulkOut(BaseModel):
    """What a change of many memories reaches."""

    matched: int
    changed: int = Field(description="0 if only asked what it would reach")
    ids: list[str] = Field(description=f"Of the first {MAX_BULK_IDS} that match")

    @classmethod
    def of(cls, outcome: BulkOutcome) -> "BulkOut":
        return cls(matched=outcome.matched, changed=outcome.changed, ids=list(outcome.ids[:MAX_BULK_IDS]))


class ContextOut(BaseModel):
    """What an agent should know before it begins."""

    pinned: list[ListedOut] = Field(description=f"The newest {MAX_PINNED} of them, newest first")
    pinned_total: int
    found: RetrieveOut | None = Field(description="What the query finds beside them; null without a query")
    recent: list[ListedOut] = Field(description="The newest others, if there is no query")

    @classmethod
    def of(cls, context: Context) -> "ContextOut":
        return cls(
            pinned=[ListedOut.begun(memory) for memory in context.pinned],
            pinned_total=context.pinned_total,
            found=RetrieveOut.of(context.found) if context.found else None,
            recent=[ListedOut.begun(memory) for memory in context.recent],
        )


class OverviewOut(BaseModel):
    """What there is in a namespace."""

    stats: StatsOut
    tags: list[TagOut] = Field(description="The most used")
    recent: list[ListedOut]
    pinned: int
    expired: int = Field(description="Out of searches and lists, and still kept")
    superseded: int = Field(description="In the history")
    trashed: int = Field(description="Deleted, and can be brought back")
    degraded: list[str] = Field(description="What searches do without at this moment")

    @classmethod
    def of(cls, overview: Overview) -> "OverviewOut":
        return cls(
            stats=StatsOut.of(overview.stats),
            tags=TagsOut.of(list(overview.tags)).tags,
            recent=[ListedOut.begun(memory) for memory in overview.recent],
            pinned=overview.pinned,
            expired=overview.expired,
            superseded=overview.superseded,
            trashed=overview.trashed,
            degraded=list(overview.degraded),
        )
