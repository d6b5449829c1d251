"""How memories point at each other."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from .search import Candidate

EdgeKind: TypeAlias = Literal["link", "mentions", "calls", "imports", "contains", "supersedes", "fixes"]
LINK_KINDS: tuple[EdgeKind, ...] = ("link", "mentions", "calls", "imports", "contains", "fixes")
"""Those along which one memory leads to another; `supersedes` says which of two holds."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One memory points at another. An edge to a name leads to every memory that has the name, now or later."""

    from_id: str
    to: str
    """The id of a memory, or a name if `by_name`; it need not be there yet."""
    kind: EdgeKind
    weight: float = 1.0
    by_name: bool = field(kw_only=True)

    @property
    def key(self) -> tuple[str, EdgeKind, bool, str]:
        """What tells it from other edges; of two with the same key, the later one replaces the weight."""
        return self.from_id, self.kind, self.by_name, self.to


class Linked(NamedTuple):
    """A memory at the other end of an edge of one that was asked about."""

    candidate: Candidate
    """Its score is 0."""
    asked: str
    """The id of the one that was asked about."""
    edge: Edge
    degree: int
    """How many edges the asked one has in this direction."""
    far_degree: int
    """How many memories point where this edge does; of an edge that leads to the asked one, how many edges start where
    it does."""

    @property
    def is_outgoing(self) -> bool:
        """Whether the asked one points at this memory, and not the other way round."""
        return self.edge.from_id == self.asked


def in_document_order(candidate: Candidate) -> tuple[bool, int, str]:
    """By sequence; those without one come last."""
    return candidate.sequence is None, candidate.sequence or 0, candidate.content_hash


@dataclass(frozen=True, slots=True)
class SourceOutcome:
    """What became of the memories of a source when they were replaced."""

    created: int
    updated: int
    """The same text at the same place, with other tags, names or metadata."""
    unchanged: int
    deleted: int
