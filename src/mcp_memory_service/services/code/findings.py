"""What the code graph answers beside calls: what was said, what a change may touch, and how much there is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...models import Freshness, Memory
from .answers import CallsAnswer, CodeSymbol, Completeness, Related
from .history import FileHistory
from .mentions import MentionForm
from .risk import Risk

Role: TypeAlias = Literal["decision", "error", "note", "memory"]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A memory that mentions a symbol."""

    memory: Memory
    role: Role
    symbol: str
    """By its qualified name: the first of those that were looked for."""
    form: MentionForm
    changed_since: int | None
    """When the text of the symbol became another one after this was written; None if it is the same."""


@dataclass(frozen=True, slots=True)
class SpokenOf:
    """Newest first."""

    found: tuple[Spoken, ...] = ()
    bounded: bool = False
    """More texts have the words than were looked at."""

    def of_role(self, role: Role) -> tuple[Spoken, ...]:
        return tuple(each for each in self.found if each.role == role)


@dataclass(frozen=True, slots=True)
class LinkedAnswer:
    symbols: tuple[CodeSymbol, ...]
    """What was asked about, or what a question fits, best first."""
    by_search: bool
    """Whether it was found by the words of a question, and not by its name."""
    callers: CallsAnswer
    callees: CallsAnswer
    """Of the first."""
    spoken: tuple[Spoken, ...]
    """Newest first."""
    total: int
    bounded: bool


@dataclass(frozen=True, slots=True)
class ImpactGroup:
    """What is reached by so many steps."""

    depth: int
    weight: float
    """What one of it counts in the risk."""
    total: int
    shown: tuple[Related, ...]


@dataclass(frozen=True, slots=True)
class ImpactAnswer:
    symbols: tuple[CodeSymbol, ...]
    depth: int
    callers: tuple[ImpactGroup, ...]
    """Without tests."""
    heirs: tuple[Related, ...]
    """What overrides it or inherits from it."""
    tests: tuple[Related, ...]
    """That reach it; nearest first."""
    tests_total: int
    files: int
    """Others than its own that reach it."""
    spoken: tuple[Spoken, ...]
    """Decisions, then errors, then the rest; each newest first."""
    spoken_total: int
    history: FileHistory | None
    """None if its folder has none."""
    risk: Risk
    completeness: Completeness


@dataclass(frozen=True, slots=True)
class CodeRoot:
    root: str
    files: int
    settled: bool
    """Whether the last index run came to its end."""


@dataclass(frozen=True, slots=True)
class CodeStats:
    roots: tuple[CodeRoot, ...]
    files: int
    symbols: int
    symbols_by_kind: Mapping[str, int]
    files_by_language: Mapping[str, int]
    """Of those that were looked at."""
    edges: Mapping[str, Mapping[str, int]]
    """By kind, then by certainty."""
    open_calls: int
    """Functions with names that they call and that were not resolved, each pair once."""
    freshness: Mapping[Freshness, int]
    """Of the files that were looked at, by their dates and then by all their lines."""
    looked_at: int
    awaiting_vectors: int

    @property
    def resolved_share(self) -> float:
        """Which part of the calls that may lead to the project was resolved."""
        resolved = sum(self.edges.get("calls", {}).values())
        return resolved / (resolved + self.open_calls) if resolved + self.open_calls else 1.0
