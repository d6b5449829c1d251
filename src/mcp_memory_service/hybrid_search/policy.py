"""The numbers of the ranking, in one value; every default says where it comes from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    hybrid_alpha: float | None = None
    """Weight of the vector signal; None chooses it from the size of the corpus."""

    recency_decay: float = 0.01
    """Per day: half of the decaying part is gone after ln 2 / 0.01 ≈ 70 days."""

    recency_floor: float = 0.984
    """Just above 61/62, the ratio of RRF's second to its first rank (k = 60): age alone never takes the first
    place from a memory that leads every signal, and still orders neighbours further down."""

    adaptive_threshold_small: int = 500
    adaptive_threshold_large: int = 5000

    rrf_k: int = 60
    """The constant of Cormack, Clarke and Büttcher, SIGIR 2009."""

    ranking_window: int = 1000
    """How many candidates each signal ranks, whatever the page: a pool that grew with the page would let
    memories change places between pages (docs/adr/0003)."""
