"""What is told of the files that notes and code come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Freshness: TypeAlias = Literal["fresh", "acceptable", "stale", "stale_with_risk"]
"""fresh: the file is as it was read. acceptable: it was written since, and has the same span. stale: it has another
span. stale_with_risk: file or symbol are gone, or cannot be read from here."""

FRESHNESS_FACTORS: Mapping[Freshness, float] = MappingProxyType(
    {"fresh": 1.0, "acceptable": 0.9, "stale": 0.7, "stale_with_risk": 0.5}
)
"""What of its score code keeps that is no fresher than this; freshest first."""


WEIGHED_FIRST = 50
"""So many of a ranking are weighed by it, whichever page is asked for: the order must be that of every page. What is the
best but for its freshness has at least half of its score left, and so is among them; each costs a look at its file."""
WEIGHED_FOR_FLOOR = 200
"""So many where those that are not fresh enough are left out."""


def is_as_fresh(freshness: Freshness, floor: Freshness) -> bool:
    return FRESHNESS_FACTORS[freshness] >= FRESHNESS_FACTORS[floor]


@dataclass(frozen=True, slots=True)
class FolderContext:
    """What a folder says of itself."""

    folder: str
    """Relative to the root, `.` for the root itself."""
    source: str
    text: str
