"""The use cases: what REST, MCP and the command line all call."""

from .health import Health
from .memory_service import AskedSignals, MemoryService
from .search.results import Ahead, Explanation, Hit, MemoryListing, Paging, ScoreBreakdown, SearchResult
from .write.migration import Migration, MigrationReport
from .write.storing import ServiceLimits
from .write.transfer import Import, ImportLine, ImportReport, every_memory

__all__ = [
    "Ahead",
    "AskedSignals",
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
    "ScoreBreakdown",
    "SearchResult",
    "ServiceLimits",
    "every_memory",
]
