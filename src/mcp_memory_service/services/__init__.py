"""The use cases: what REST, MCP and the command line all call."""

from .memory_service import Asked, MemoryService, SearchOptions
from .search.explanation import Ahead, Explanation
from .search.results import Health, Hit, MemoryListing, Paging, RetrievalResult, SignalRank
from .write.migration import Migration, MigrationReport
from .write.storing import ServiceLimits
from .write.transfer import Import, ImportLine, ImportReport, every_memory

__all__ = [
    "Ahead",
    "Asked",
    "Explanation",
    "Health",
    "Hit",
    "Import",
    "ImportLine",
    "ImportReport",
    "MemoryListing",
    "MemoryService",
    "Migration",
    "MigrationReport",
    "Paging",
    "RetrievalResult",
    "SearchOptions",
    "ServiceLimits",
    "SignalRank",
    "every_memory",
]
