"""What the code graph answers: symbols as they are shown, and how far an answer can be relied on."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from ...models import Certainty, EdgeKind, Freshness, Memory
from .freshness import span_of

Detail: TypeAlias = Literal["names", "signatures", "code"]
Direction: TypeAlias = Literal["callers", "callees"]
Relation: TypeAlias = Literal["calls", "references", "imports", "inherits", "overrides", "tests"]
"""By which one symbol uses another; what contains it is no use of it."""
RELATIONS: tuple[Relation, ...] = get_args(Relation)
CERTAINTIES: tuple[Certainty, ...] = get_args(Certainty)
"""Surest first."""


def certainty_rank(certainty: Certainty | None) -> int:
    """0 for what nobody can doubt."""
    return 0 if certainty is None else CERTAINTIES.index(certainty)


@dataclass(frozen=True, slots=True)
class CodeSymbol:
    """A definition, as it was when its file was read."""

    id: str
    qualified_name: str
    kind: str
    path: str
    """Relative to its root."""
    root: str
    project: str
    language: str
    first_line: int
    last_line: int
    signature: str
    content: str
    """What is stored of it: signature, docstring and text."""
    since: int | None
    """When this text of it was first seen."""
    freshness: Freshness | None = None

    @classmethod
    def of(cls, memory: Memory, freshness: Freshness | None = None) -> "CodeSymbol":
        metadata, span = memory.metadata, span_of(memory)
        since = metadata.get("since")
        return cls(
            id=memory.content_hash,
            qualified_name=memory.anchor or "",
            kind=str(metadata.get("symbol_kind", memory.memory_type)),
            path=path_of(memory),
            root=str(metadata.get("root", "")),
            project=str(metadata.get("project", "")),
            language=str(metadata.get("language", "")),
            first_line=span.first_line if span else 1,
            last_line=span.last_line if span else 1,
            signature=str(metadata.get("signature", "")),
            content=memory.content,
            since=since if isinstance(since, int) else None,
            freshness=freshness,
        )

    @property
    def name(self) -> str:
        return self.qualified_name.rpartition(".")[2]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.first_line}"

    @property
    def described(self) -> str:
        return f"{self.qualified_name} ({self.place})"


def path_of(memory: Memory) -> str:
    return str(memory.metadata.get("path", memory.source))


def freshness_said(symbols: Iterable[CodeSymbol]) -> list[str]:
    """A sentence, if files have changed since they were read."""
    others = [symbol for symbol in symbols if symbol.freshness in {"stale", "stale_with_risk"}]
    return [f"{len(others)} of the symbols shown have changed or gone since: index again."] if others else []


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where one symbol refers to another."""

    kind: EdgeKind
    certainty: Certainty | None
    path: str
    lines: tuple[int, ...]
    refers_to: str
    """The qualified name of what stands there."""


@dataclass(frozen=True, slots=True)
class Related:
    """A symbol that leads to the one that was asked about, or to which that one leads."""

    symbol: CodeSymbol
    depth: int
    certainty: Certainty | None
    """Of the least sure step on the surest way of this length."""
    sites: tuple[CallSite, ...]


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """Calls by a name that were not resolved, and may mean the symbol, or be what it calls."""

    sites: int = 0
    symbols: int = 0
    """So many functions have them."""
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.symbols > 0


@dataclass(frozen=True, slots=True)
class Completeness:
    """Why there may be more than an answer shows."""

    open_calls: OpenCalls = OpenCalls()
    bounded: bool = False
    """The walk ended at its bounds, and not where the graph does."""
    not_shown: int = 0
    """Found, and left to the next page."""
    left_out: int = 0
    """Less sure than was asked for, one step away."""
    other_kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    """References one step away of kinds that were not asked for."""

    @property
    def complete(self) -> bool:
        """Whether the graph has no more of what was asked for, as far as it was resolved."""
        return not (self.open_calls or self.bounded or self.not_shown or self.left_out)

    def said(self, shown: Callable[[str], str] = str) -> list[str]:
        """In sentences; `shown` makes names fit to be shown."""
        calls, lines = self.open_calls, list[str]()
        if calls:
            names = ", ".join(map(shown, calls.names))
            lines.append(
                f"{calls.sites} calls of {names} in {calls.symbols} functions are open and may be further ones."
            )
        if self.bounded:
            lines.append("There are more: the walk ended at its bounds.")
        if self.not_shown:
            lines.append(f"{self.not_shown} more are not shown.")
        if self.left_out:
            lines.append(f"{self.left_out} less sure ones are left out.")
        if self.other_kinds:
            others = ", ".join(f"{count} {kind}" for kind, count in self.other_kinds.items())
            lines.append(f"Of other kinds: {others}.")
        return lines


@dataclass(frozen=True, slots=True)
class CallsAnswer:
    """Who calls a symbol, or whom it calls, level by level."""

    direction: Direction
    symbols: tuple[CodeSymbol, ...]
    """What was asked about; several, if it is defined several times under one name."""
    depth: int
    detail: Detail
    found: tuple[Related, ...]
    total: int
    recursive: bool
    """Whether it leads back to itself within this depth."""
    completeness: Completeness
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A symbol of a path, and where it refers to the next one; the last one has no site."""

    symbol: CodeSymbol
    site: CallSite | None


@dataclass(frozen=True, slots=True)
class ChainAnswer:
    """The shortest ways from one symbol to another."""

    origin: CodeSymbol
    goal: CodeSymbol
    max_depth: int
    chains: tuple[tuple[ChainStep, ...], ...]
    more: bool
    """Whether there are others of the same length."""
    completeness: Completeness


def project_of(memory: Memory) -> str:
    return str(memory.metadata.get("project", ""))


def lines_count(sites: tuple[CallSite, ...]) -> int:
    return sum(max(1, len(site.lines)) for site in sites)


def as_certainty(rank: int) -> Certainty:
    return CERTAINTIES[rank]
