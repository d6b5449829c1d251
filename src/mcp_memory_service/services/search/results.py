"""What a search, a listing and an explanation give back."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...hybrid_search import Evidence, FusionMethod, RankingName, TimeHint, Vote
from ...models import Confidence, FolderContext, Freshness, Memory, SearchMode, SearchRequest

HINTS = 3
"""So many results are worth a look where nothing seems to be an answer."""


@dataclass(frozen=True, slots=True)
class ScoreBreakdown:
    """How one score came about: `final_score = (sum of the contributions) · recency_factor · time_factor ·
    update_factor`. If it was re-ranked, it is `((sum of the other contributions) · recency_factor · time_factor ·
    (1 - rerank_weight) + contribution of the cross-encoder) · update_factor`."""

    contributions: Mapping[str, Vote]
    """By signal."""
    tag_matches: tuple[str, ...]
    """The memory's tags that were looked for."""
    recency_factor: float
    final_score: float
    alpha_used: float
    ranking: RankingName
    fusion: FusionMethod
    alpha_prior: float | None = None
    """Alpha by the size of the corpus, before the query was looked at; None if it was given."""
    time_factor: float = 1.0
    """By how near the memory is to the time that the query names; recency does not count then."""
    update_factor: float = 1.0
    """Above 1 for an update of an older memory: it got the score of that one."""
    rerank_weight: float = 0.0
    """Of the cross-encoder; 0 if the search was not re-ranked."""
    expanded_with: tuple[str, ...] = ()
    """Terms of the corpus that were added to the query for the vector signal."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a content."""

    start: int
    """Which character of the content is its first, from 0."""
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    memory: Memory
    score: float
    """Between 0 and 1, the best of the whole search at 1; for ordering, not for thresholds."""
    similarity: float | None
    """Cosine similarity to the query; None when the vector signal did not find the memory."""
    provenance: Mapping[str, Vote]
    """Which signals found it, where they placed it and by which measure of their own."""
    snippet: str | None = None
    """The part of the content where words of the query stand, marked; None if there are none."""
    debug: ScoreBreakdown | None = None
    passages: tuple[Passage, ...] = ()
    """Of a long content the parts that the query is about, in order; none of a short one, or if it was asked for
    whole."""
    freshness: Freshness | None = None
    """Whether the file that it comes from still has it; None if it comes from none."""


@dataclass(frozen=True, slots=True)
class Paging:
    page: int
    page_size: int
    total: int
    placed: int | None = None
    """How many are on this page and on those before it, where pages are not full for their size."""
    pages: int = 0
    """How many these are, without empty ones."""

    @property
    def total_pages(self) -> int:
        """No fewer, where pages may not be full."""
        return self.pages - (((self.placed or 0) - self.total) // self.page_size)

    @property
    def has_more(self) -> bool:
        return self.page < self.total_pages

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.page_size


@dataclass(frozen=True, slots=True)
class SearchResult:
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
    confidence: Confidence
    """How sure the search is that what it found answers the query, whichever page this is."""
    cut: bool = False
    """Whether results were left out because the search is less sure than was asked."""
    evidence: Evidence | None = None
    """What alpha was chosen by; None if it was given, or chosen by the size of the corpus."""
    time: TimeHint | None = None
    """The time that the query names, near which memories came first."""
    after: int | None = None
    before: int | None = None
    """As the filters were understood."""
    expanded_with: tuple[str, ...] = ()
    """Terms of the corpus that were added to the query for the vector signal; none unless queries are expanded."""
    contexts: tuple[FolderContext, ...] = ()
    """What the folders say of themselves that hits come from; only if that is switched on."""

    @property
    def confidence_note(self) -> str | None:
        """The confidence as a sentence for people and models; None if there is nothing to warn of."""
        if self.cut:
            return f"Nothing stored answers this as surely as min_confidence asks: the confidence is {self.confidence}."
        if self.confidence == "high":
            return None
        if self.confidence == "low":
            return "What was found may answer this or only be near it."
        if not self.paging.total:
            return "Nothing stored matches this."
        return "Nothing stored seems to answer this; the best three are hints."


@dataclass(frozen=True, slots=True)
class MemoryListing:
    memories: tuple[Memory, ...]
    paging: Paging
    after: int | None = None
    before: int | None = None
    """As the filters were understood."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """A memory that ranks before the explained one."""

    memory: Memory
    rank: int
    contributions: Mapping[str, Vote]


@dataclass(frozen=True, slots=True)
class Explanation:
    memory: Memory
    request: SearchRequest
    rank: int | None
    """Place in the answer; None if the memory is not in it."""
    total: int
    filtered_by: tuple[str, ...]
    signals: Mapping[str, Vote]
    """What each signal that found the memory says of it, among all memories; without the filters if they drop it."""
    recency_factor: float
    time_factor: float
    final_score: float
    alpha_used: float
    outranked_by: tuple[Ahead, ...]
    alpha_for_first_page: float | None
    degraded: tuple[str, ...]
    evidence: Evidence | None
    time: TimeHint | None = None
    """The time that the query names, near which memories came first."""
    update_factor: float = 1.0
    rank_before: int | None = None
    """Its place before the first results were re-ranked; None if they were not, or it is not in the answer."""
    rerank_weight: float = 0.0
    """Of the cross-encoder in the final score."""
    expanded_with: tuple[str, ...] = ()
    """As in the answer."""

    @property
    def on_first_page(self) -> bool:
        return self.rank is not None and self.rank <= self.request.page_size

    @property
    def summary(self) -> str:
        if self.filtered_by:
            return f"It is left out by: {', '.join(self.filtered_by)}."
        place = (
            "It is not among the ranked memories" if self.rank is None else f"It is number {self.rank} of {self.total}"
        )
        before = self.rank_before
        if before is not None:
            place += f", and was number {before} before re-ranking"
        if self.on_first_page or (before is not None and before <= self.request.page_size):
            return f"{place}."
        if self.request.mode != "hybrid":
            return f"{place}; the mode {self.request.mode} has no alpha to change."
        if self.alpha_for_first_page is None:
            return f"{place}; no alpha would put it on the first page."
        return f"{place}; alpha {self.alpha_for_first_page:g} (now {self.alpha_used:g}) would put it on the first page."
