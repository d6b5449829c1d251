"""The use cases: what REST, MCP and the command line all call."""

from .explanation import Ahead, Explanation
from .memory_service import Asked, MemoryService, SearchOptions, ServiceLimits
from .migration import Migration, MigrationReport
from .results import Health, Hit, MemoryListing, Paging, RetrievalResult, SignalRank

__all__ = [
    "Ahead",
    "Asked",
    "Explanation",
    "Health",
    "Hit",
    "MemoryListing",
    "MemoryService",
    "Migration",
    "MigrationReport",
    "Paging",
    "RetrievalResult",
    "SearchOptions",
    "ServiceLimits",
    "SignalRank",
]
