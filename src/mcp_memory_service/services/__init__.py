"""The use cases: what REST, MCP and the command line all call."""

from .memory_service import MemoryService, ServiceLimits
from .results import Health, Hit, MemoryListing, RetrievalResult, SignalRank

__all__ = ["Health", "Hit", "MemoryListing", "MemoryService", "RetrievalResult", "ServiceLimits", "SignalRank"]
