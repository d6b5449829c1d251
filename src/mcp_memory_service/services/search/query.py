"""What the signals are asked, and what stands in place of what could not be had."""

import logging
from dataclasses import dataclass

from ...hybrid_search import TimeHint
from ...models import MemoryFilter, Vector

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SignalQuery:
    text: str
    where: MemoryFilter
    extract_tags: bool
    """False when the caller named the tags, or wants none."""
    min_similarity: float | None
    signals: frozenset[str]
    """The names of the signals to ask."""
    vector_limit: int
    lexical_limit: int
    """The most candidates of the vector signal, and of words and tags each."""
    weighs_evidence: bool = False
    """Whether the signals shall also say how far they can be trusted."""
    every_tag: bool = False
    """Whether tags that most memories carry are looked for as well."""
    time: TimeHint | None = None
    """The time that the text names, where it counts."""
    with_history: bool = False
    """Whether what was superseded is found as well."""
    expands: bool = False
    """Whether the vector signal is asked with terms of the corpus added to the text."""


@dataclass(frozen=True, slots=True)
class Missing:
    """In place of what could not be had."""

    reason: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """A query with terms of the corpus added to it."""

    terms: tuple[str, ...]
    vector: Vector


@dataclass(frozen=True, slots=True)
class QueryVector:
    plain: Vector
    """Of the query as it was asked."""
    expansion: Expansion | Missing | None = None

    @property
    def asked(self) -> Vector:
        """What the nearest memories are looked for with."""
        return self.expansion.vector if isinstance(self.expansion, Expansion) else self.plain

    @property
    def terms(self) -> tuple[str, ...]:
        """Those that were added."""
        return self.expansion.terms if isinstance(self.expansion, Expansion) else ()


def note(reason: str, error: Exception) -> str:
    logger.warning("Search goes on without a part: %s (%s)", reason, error)
    return reason
