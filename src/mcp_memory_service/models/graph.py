"""How memories point at each other."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

EdgeKind: TypeAlias = Literal["link", "mentions", "calls", "imports", "contains", "supersedes", "fixes"]


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


@dataclass(frozen=True, slots=True)
class SourceOutcome:
    """What became of the memories of a source when they were replaced."""

    created: int
    updated: int
    """The same text at the same place, with other tags, names or metadata."""
    unchanged: int
    deleted: int
