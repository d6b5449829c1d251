"""What an agent should know before it begins, and what there is at all."""

from dataclasses import dataclass

from ..models import Memory, StoreStats, TagCount
from .search.results import SearchResult

MAX_PINNED = 50
"""Of the newest: more would leave no room for anything else."""
MAX_RECENT = 5
MAX_FOUND = 5
MAX_OVERVIEW_TAGS = 20


@dataclass(frozen=True, slots=True)
class Context:
    pinned: tuple[Memory, ...]
    """Newest first."""
    pinned_total: int
    found: SearchResult | None
    """What the query finds beside them; None without a query."""
    recent: tuple[Memory, ...]
    """In place of what is found, if there is no query; without those that are pinned."""


@dataclass(frozen=True, slots=True)
class Overview:
    stats: StoreStats
    tags: tuple[TagCount, ...]
    """The most used."""
    recent: tuple[Memory, ...]
    pinned: int
    expired: int
    superseded: int
    trashed: int
    degraded: tuple[str, ...]
    """What searches do without at this moment."""
