"""The use cases: what REST, MCP and the command line all call."""

from .context import Context, Overview
from .life import BulkOutcome
from .memory_service import AskedSignals, MemoryService
from .search.results import MemoryListing, SearchResult
from .search.searchers import PoolLimits, SearcherPool
from .write.migration import Migration, MigrationReport
from .write.storing import ServiceLimits
from .write.transfer import Import, ImportLine, ImportReport, every_memory

__all__ = [
    "AskedSignals",
    "BulkOutcome",
    "Context",
    "Import",
    "ImportLine",
    "ImportReport",
    "MemoryListing",
    "MemoryService",
    "Migration",
    "MigrationReport",
    "Overview",
    "PoolLimits",
    "SearchResult",
    "SearcherPool",
    "ServiceLimits",
    "every_memory",
]
