"""What a search has found before it is shown: the whole ranking, and the page that is cut from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...hybrid_search import Evidence, Fused, TimeHint
from ...models import Candidate, Confidence, Memory
from .paging import cut_page, memories_on
from .results import Hit, Paging
from .signals import ChunkSimilarities, SignalResults


@dataclass(frozen=True, slots=True)
class Ranking:
    """All ranked memories of a search, before a page is cut."""

    results: SignalResults
    pool: Mapping[str, Sequence[Candidate]]
    alpha: float
    fused: Fused
    evidence: Evidence | None
    """What alpha was chosen by; None if it was given, or chosen by the size of the corpus."""
    time: TimeHint | None = None
    """The time that the query names, if it counted."""
    prior: float | None = None
    """Alpha by the size of the corpus; None if it was given."""
    update_factors: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of memories that got the score of an older one, which they update, by id."""
    before_updates: Fused | None = None
    """The ranking without these factors; None where updates are not looked for."""
    first_stage: Fused | None = None
    """As it was before it was re-ranked; None if it was not."""
    rerank_weight: float = 0.0
    """Of the cross-encoder, if it was."""
    not_reranked: tuple[str, ...] = ()
    """Why it was not, if it should have been."""

    @property
    def degraded(self) -> tuple[str, ...]:
        return (*self.results.degraded, *self.not_reranked)


@dataclass(frozen=True, slots=True)
class Page:
    ranking: Ranking
    paging: Paging
    candidates: Fused
    memories: Sequence[Memory]
    """Of the page, and before it is re-ranked also those that come first in the whole ranking."""
    chunks: ChunkSimilarities
    """Of its long memories."""
    hits: tuple[Hit, ...] | None
    """None if they take long to make, or their order is not known yet."""
    confidence: Confidence
    cut: bool
    """Whether there are none because they are not sure enough."""
    max_chunks: int = 0
    """Of one document on it; 0 for any number."""

    def of(self, ranking: Ranking) -> "Page":
        """The same page of the ranking in another order, of which the memories are here."""
        read = {memory.content_hash: memory for memory in self.memories}
        candidates, paging = cut_page(ranking.fused, self.paging, self.max_chunks, read)
        memories = memories_on(candidates, read)
        return replace(self, ranking=ranking, candidates=candidates, memories=memories, paging=paging)
