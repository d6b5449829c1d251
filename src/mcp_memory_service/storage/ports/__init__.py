"""The storage port, by role. Docstrings are promises; tests/contract holds every backend to them.

A store is a place for memories, their tags and their vectors. A memory's parts change together or not at all. A write
that has returned is on disk. Failures of the engine surface as errors of `errors.py`, never as empty answers.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from ...models import IndexedText
from .graph import GraphStore
from .health import StoreHealth
from .learning import LearningStore
from .reads import MemoryReads
from .search import SearchReads, SearchStore, SearchWork, Snapshot, StartRead
from .writes import KEYS_KEPT_MICROSECONDS, MemoryWrites

TextAnalyzer: TypeAlias = Callable[[str, Sequence[str]], IndexedText]
"""Cuts content and labels into the words of the keyword signal; given to a store when it is opened, one for all."""


class Store(SearchStore, MemoryReads, MemoryWrites, GraphStore, LearningStore, StoreHealth, Protocol):
    """All roles together, as a backend fills them."""


__all__ = [
    "KEYS_KEPT_MICROSECONDS",
    "GraphStore",
    "LearningStore",
    "MemoryReads",
    "MemoryWrites",
    "SearchReads",
    "SearchStore",
    "SearchWork",
    "Snapshot",
    "StartRead",
    "Store",
    "StoreHealth",
    "TextAnalyzer",
]
