"""The numbers of the ranking, in one value; every default says where it comes from."""

from dataclasses import dataclass

from .fusion import FusionMethod


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    hybrid_alpha: float | None = None
    """Weight of the vector signal; None chooses it from the size of the corpus."""

    recency_decay: float = 0.01
    """Per day: half of the decaying part is gone after ln 2 / 0.01 ≈ 70 days."""

    recency_floor: float = 0.998
    """Above 0.9977 = (0.25/62 + 1.5/61) / (0.25/61 + 1.5/61): the smallest lead of a memory that is first by vector and
    shares first place by tag and keyword, at any adaptive alpha. So age alone never takes the first place from a memory
    that no signal places behind another; it decides between equals (docs/adr/0005)."""

    adaptive_threshold_small: int = 500
    adaptive_threshold_large: int = 5000

    tag_weight: float = 1.0
    keyword_weight: float = 1.0
    """Of the tag and the keyword signal, each times (1 - alpha)."""

    fusion: FusionMethod = "rrf"

    rrf_k: int = 60
    """The constant of Cormack, Clarke and Büttcher, SIGIR 2009."""

    ranking_window: int = 1000
    """How many candidates each signal ranks, whatever the page: a pool that grew with the page would let
    memories change places between pages (docs/adr/0003)."""
