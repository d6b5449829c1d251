"""How far a search follows the graph of code from what it found."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

GraphStrategy: TypeAlias = Literal["none", "callers", "dependencies", "related"]
"""callers: what uses it. dependencies: what it uses. related: both, and whatever else it is linked with."""

MAX_EXPANSION_DEPTH = 5


@dataclass(frozen=True, slots=True)
class GraphExpansion:
    strategy: GraphStrategy = "none"
    depth: int = 1
    """How many edges are followed one after the other."""
