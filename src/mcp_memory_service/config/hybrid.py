"""How the signals are weighed: the settings behind `RankingPolicy`."""

from dataclasses import asdict
from typing import Any

from pydantic import Field, model_validator

from ..hybrid_search.policy import CLASSIC, FusionMethod, GraphForm, RankingName, RankingPolicy, RecencyMethod
from ..models import TunedWeights
from .sources import ENV_PREFIX, EnvironmentSettings, from_environment

_RANKING = RankingPolicy()
_CLASSIC_DEFAULTS = {name: value for name, value in asdict(CLASSIC).items() if value != getattr(_RANKING, name)}


class HybridSearchSettings(EnvironmentSettings):
    model_config = from_environment(ENV_PREFIX)

    ranking: RankingName = Field(
        default=_RANKING.ranking,
        description="classic = vectors and tags by Reciprocal Rank Fusion, alpha by the size of the corpus, plain"
        " exponential recency; any other setting that is given still counts",
    )
    hybrid_alpha: float | None = Field(
        default=_RANKING.hybrid_alpha,
        ge=0.0,
        le=1.0,
        description="Weight of the vector signal: 1 = vectors only, 0 = tags only, unset = adaptive to each query"
        " (with fusion rrf: to the size of the corpus)",
    )
    vector_trust: float = Field(
        default=_RANKING.vector_trust,
        gt=0.0,
        le=100.0,
        description="Multiplies the odds of the vector signal where alpha adapts to the query; above 1 = trust it more",
    )
    recency: RecencyMethod = Field(
        default=_RANKING.recency,
        description="How age counts: decay = by the two settings below, tiers = 1.2 times the score up to 7 days, 1.1"
        " times up to 30, as it is from then on",
    )
    recency_decay: float = Field(
        default=_RANKING.recency_decay,
        ge=0.0,
        le=100.0,
        description="Decay of the recency factor per day; 0 turns it off",
    )
    recency_floor: float = Field(
        default=_RANKING.recency_floor,
        ge=0.0,
        le=1.0,
        description="Minimum recency factor, however old a memory is; 0 = plain exponential decay",
    )
    query_dates: bool = Field(
        default=_RANKING.query_dates,
        description="Rank memories first that are from the time a query names, such as in May 2026 or latest; off = by"
        " recency as ever",
    )
    query_expansion: bool = Field(
        default=_RANKING.query_expansion,
        description="Add the three terms of the stored texts that are nearest to a query to it, for the vector signal"
        " alone; `serve` and `mcp` embed the terms in the background and keep them beside the database file",
    )
    adaptive_threshold_small: int = Field(
        default=_RANKING.adaptive_threshold_small,
        ge=0,
        description="With fusion rrf: below this many memories alpha is 0.5",
    )
    adaptive_threshold_large: int = Field(
        default=_RANKING.adaptive_threshold_large,
        ge=0,
        description="With fusion rrf: from this many memories on alpha is 0.8; between the two it is 0.7",
    )
    tag_weight: float = Field(
        default=_RANKING.tag_weight, ge=0.0, le=10.0, description="Weight of the tag signal, times (1 - alpha)"
    )
    keyword_weight: float = Field(
        default=_RANKING.keyword_weight, ge=0.0, le=10.0, description="Weight of the keyword signal, times (1 - alpha)"
    )
    neighbour_weight: float = Field(
        default=_RANKING.neighbour_weight,
        ge=0.0,
        le=0.95,
        description="How far a memory is drawn to the score of the next one of its session, with fusion score; 0 = off",
    )
    graph_weight: float = Field(
        default=_RANKING.graph_weight,
        ge=0.0,
        le=1.0,
        description="How much of its score a memory lends to what it is linked with; 0 = links do not count",
    )
    graph_form: GraphForm = Field(
        default=_RANKING.graph_form,
        description="boost = lend by direction and number of the links (with fusion score); decay = lift to a share of"
        " the score of what it is linked with, whatever the weight above 0",
    )
    graph_decay: float = Field(
        default=_RANKING.graph_decay,
        ge=0.0,
        le=1.0,
        description="That share, for each link; in the form boost for the best link, less for others",
    )
    graph_hops: int = Field(
        default=_RANKING.graph_hops, ge=1, le=2, description="With graph form decay: how many links are followed"
    )
    fusion: FusionMethod = Field(
        default=_RANKING.fusion, description="score = by scaled scores, rrf = by ranks (Reciprocal Rank Fusion)"
    )
    rrf_k: int = Field(default=_RANKING.rrf_k, ge=1, description="Smoothing constant of Reciprocal Rank Fusion")
    ranking_window: int = Field(
        default=_RANKING.ranking_window,
        ge=10,
        le=100_000,
        description="How many candidates each signal ranks, and how deep a search can be paged through",
    )
    max_chunks_per_document: int = Field(
        default=_RANKING.max_chunks_per_document,
        ge=0,
        description="So many chunks of one document are on a page at most; more come on the next page. 0 = no limit",
    )

    @model_validator(mode="before")
    @classmethod
    def _classic_has_defaults_of_its_own(cls, given: dict[str, Any]) -> dict[str, Any]:
        return _CLASSIC_DEFAULTS | given if given.get("ranking") == CLASSIC.ranking else given

    @model_validator(mode="after")
    def _thresholds_are_in_order(self) -> "HybridSearchSettings":
        if self.adaptive_threshold_small > self.adaptive_threshold_large:
            raise ValueError(
                f"{ENV_PREFIX}ADAPTIVE_THRESHOLD_SMALL must not be above {ENV_PREFIX}ADAPTIVE_THRESHOLD_LARGE"
            )
        return self

    @property
    def implied(self) -> frozenset[str]:
        """The settings whose defaults the ranking changes."""
        return frozenset(_CLASSIC_DEFAULTS if self.ranking == CLASSIC.ranking else ())

    @property
    def is_tunable(self) -> bool:
        """Whether tuned weights count: they are fitted to scores, not to ranks."""
        return self.ranking == "measured" and self.fusion == "score"

    def policy(self, tuned: TunedWeights | None = None) -> RankingPolicy:
        """The numbers of the ranking: what was set, else what was tuned, else the defaults."""
        weights = asdict(tuned) if tuned is not None and self.is_tunable else {}
        fitted = {name: value for name, value in weights.items() if name not in self.model_fields_set}
        return RankingPolicy(**self.model_dump() | fitted)
