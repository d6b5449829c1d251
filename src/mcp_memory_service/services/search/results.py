"""What the use cases return."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...hybrid_search import Evidence, HybridScoreDebug
from ...models import Memory, SearchMode


@dataclass(frozen=True, slots=True)
class SignalRank:
    """Where a signal placed a memory, and by which measure of its own."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    memory: Memory
    score: float
    """Between 0 and 1, the best of the whole search at 1; for ordering, not for thresholds."""
    similarity: float | None
    """Cosine similarity to the query; None when the vector signal did not find the memory."""
    provenance: Mapping[str, SignalRank]
    snippet: str | None = None
    """The part of the content where words of the query stand, marked; None if there are none."""
    debug: HybridScoreDebug | None = None


@dataclass(frozen=True, slots=True)
class Paging:
    page: int
    page_size: int
    total: int

    @property
    def total_pages(self) -> int:
        return -(-self.total // self.page_size)

    @property
    def has_more(self) -> bool:
        return self.page < self.total_pages

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.page_size


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    results: tuple[Hit, ...]
    query: str
    paging: Paging
    alpha_used: float
    keywords: tuple[str, ...]
    """The tags (folded) that the tag signal looked for."""
    degraded: tuple[str, ...]
    """What could not be asked; empty when every signal answered."""
    took_ms: float
    mode: SearchMode
    evidence: Evidence | None = None
    """What alpha was chosen by; None if it was given, or chosen by the size of the corpus."""


@dataclass(frozen=True, slots=True)
class MemoryListing:
    memories: tuple[Memory, ...]
    paging: Paging


@dataclass(frozen=True, slots=True)
class Health:
    """Whether storing and searching would work now; `problems` says what is wrong, by stable code."""

    can_store: bool
    can_search: bool
    problems: Mapping[str, str]

    @property
    def ready(self) -> bool:
        """Both, and nothing is left out of either."""
        return not self.problems
