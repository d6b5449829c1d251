"""What is learned about a corpus from those who use it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a user or agent said of one result of a query."""

    query: str
    content_hash: str
    useful: bool
    created_at: int


@dataclass(frozen=True, slots=True)
class TunedWeights:
    """The weights that are fitted to a corpus; a setting of the same name wins over each."""

    vector_trust: float
    tag_weight: float
    neighbour_weight: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """Weights that won on held-out queries of a corpus, as they are kept in its store."""

    weights: TunedWeights
    created_at: int
    queries: int
    """How many held-out queries they were judged by."""
    before: float
    after: float
    """NDCG@10 on those queries with the weights that were in force, and with these."""
    version: int = 0
    """Given by the store, counting up; never used twice."""
