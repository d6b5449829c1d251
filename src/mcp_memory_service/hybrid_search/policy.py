"""The numbers of the ranking, in one value; every default says where it comes from."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

FusionMethod: TypeAlias = Literal["rrf", "score"]
RecencyMethod: TypeAlias = Literal["decay", "tiers"]
RankingName: TypeAlias = Literal["measured", "classic"]
GraphForm: TypeAlias = Literal["boost", "decay"]


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    ranking: RankingName = "measured"
    """In `classic` tags are looked for however many memories carry them, and age counts whenever tags do, also alone.
    All else that sets it apart is in the numbers below."""

    hybrid_alpha: float | None = None
    """Weight of the vector signal; None chooses it for each query: from what the signals show when scores are fused,
    from the size of the corpus when ranks are."""

    vector_trust: float = 1.0
    """Multiplies the odds of the vector signal that a query's evidence gives."""

    recency: RecencyMethod = "decay"
    """In `tiers` the two numbers below do not count: a memory of the last 7 days has 1.2 times its score, one of the
    last 30 days 1.1 times (`recency.py`)."""

    recency_decay: float = 0.01
    """Per day: half of the decaying part is gone after ln 2 / 0.01 ≈ 70 days."""

    recency_floor: float = 0.998
    """Age decides between equals and hardly else. Lower floors help questions about what holds now by .02 at most and
    cost as much elsewhere (docs/adr/0021)."""

    query_dates: bool = True
    """Whether a time that the query names counts in place of recency (docs/adr/0019)."""

    query_expansion: bool = False
    """Whether the three terms of the corpus nearest to a query are added to it for the vector signal. It loses on all
    ten sets that were measured, .015 on average (docs/adr/0026)."""

    date_floor: float = 0.4
    """What a memory far from that time keeps of its score. NDCG@10 with 0.6, 0.5 and 0.4: LoCoMo sessions .811, .814,
    .816, turns .5672, .5676, .5684 (docs/adr/0021)."""

    newest_floor: float = 0.6
    """What one far from the newest or the oldest keeps, if that is what the query asks for. NDCG@10 of 54 queries for
    what holds now: .748 with 0.7, .794 with 0.6, .781 with 0.5, .746 with 0.4 (docs/adr/0021)."""

    adaptive_threshold_small: int = 500
    adaptive_threshold_large: int = 5000

    tag_weight: float = 1.0
    keyword_weight: float = 1.0
    """Of the tag and the keyword signal, each times (1 - alpha)."""

    neighbour_weight: float = 0.7
    """How far a memory is drawn towards the score of the next one of its session. NDCG@10 on LoCoMo turns and our own
    corpus: .483 and .742 without, .518 and .752 with 0.5, .529 and .753 with 0.7, .516 and .757 with 0.9."""

    graph_weight: float = 0.35
    """How much of its score the best memory lends to what it is linked with; 0 follows no links. all@5 and NDCG@10 on
    hotpotqa_mini: .660 and .836 without, .815 and .895 with 0.25, .840 and .896 with 0.35, .825 and .894 with 0.5
    (docs/adr/0024)."""

    graph_form: GraphForm = "boost"
    """`boost` lends by direction and number of the links; `decay` lifts what is linked to a share of the score of what
    it is linked with, whatever the weight above 0, and with any fusion."""

    graph_decay: float = 0.8
    """That share, for each link between the two; in the form `boost` of the best link, of others less."""

    graph_hops: int = 1
    """How many links are followed in the form `decay`."""

    fusion: FusionMethod = "score"
    """Above the better single signal or within .01 of it on every set; fusing ranks lost up to .13 (docs/adr/0008)."""

    rrf_k: int = 60
    """The constant of Cormack, Clarke and Büttcher, SIGIR 2009."""

    ranking_window: int = 1000
    """How many candidates each signal ranks, whatever the page: a pool that grew with the page would let
    memories change places between pages (docs/adr/0003)."""

    max_chunks_per_document: int = 3
    """On one page, so that a long document leaves room for others; what is more comes on the next. 0 = no limit."""


CLASSIC = RankingPolicy(
    ranking="classic",
    recency="decay",
    recency_decay=0.01,
    recency_floor=0.0,
    query_dates=False,
    query_expansion=False,
    adaptive_threshold_small=500,
    adaptive_threshold_large=5000,
    tag_weight=1.0,
    keyword_weight=0.0,
    neighbour_weight=0.0,
    graph_weight=0.0,
    fusion="rrf",
    rrf_k=60,
)
"""The ranking that was required before any was measured, whatever the numbers above become: vectors and tags, fused by
rank, alpha by the size of the corpus (`alpha.py`), `e^(-decay · days)`."""
