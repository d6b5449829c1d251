"""The use cases: what REST, MCP and the command line all call."""

from .memory_service import MemoryService
from .outcomes import BulkOutcome, Context, Overview
from .search.reranking import Reranking
from .search.results import MemoryListing, SearchResult
from .search.searchers import PoolLimits, SearcherPool
from .search.signals import AskedSignals
from .sources.sources import DocumentOptions
from .write.duplicates import DEFAULT_THRESHOLD, Cluster, Duplicates, find_duplicates, merge_cluster
from .write.migration import Migration, MigrationReport
from .write.storing import ServiceLimits
from .write.transfer import Import, ImportLine, ImportReport, every_memory

__all__ = [
    "DEFAULT_THRESHOLD",
    "AskedSignals",
    "BulkOutcome",
    "Cluster",
    "Context",
    "DocumentOptions",
    "Duplicates",
    "Import",
    "ImportLine",
    "ImportReport",
    "MemoryListing",
    "MemoryService",
    "Migration",
    "MigrationReport",
    "Overview",
    "PoolLimits",
    "Reranking",
    "SearchResult",
    "SearcherPool",
    "ServiceLimits",
    "every_memory",
    "find_duplicates",
    "merge_cluster",
]
