"""The use cases: what REST, MCP and the command line all call."""

from .memory_service import MemoryService, ServiceLimits
from .results import Health, Hit, MemoryListing, Paging, RetrievalResult, SignalRank

__all__ = [
    "Health",
    "Hit",
    "MemoryListing",
    "MemoryService",
    "Paging",
    "RetrievalResult",
    "ServiceLimits",
    "SignalRank",
]
