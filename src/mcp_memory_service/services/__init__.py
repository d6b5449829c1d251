"""The use cases: what REST, MCP and the command line all call."""

from .explanation import Ahead, Explanation
from .importing import Import, ImportLine, ImportReport, every_memory
from .memory_service import Asked, MemoryService, SearchOptions
from .migration import Migration, MigrationReport
from .results import Health, Hit, MemoryListing, Paging, RetrievalResult, SignalRank
from .storing import ServiceLimits

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
