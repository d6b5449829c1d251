"""What is told of the documents that chunks come from."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Freshness: TypeAlias = Literal["fresh", "stale", "missing"]
"""fresh: the file has this text. stale: it has changed since it was indexed, and has another one there. missing: it is
gone, or cannot be read from here."""


@dataclass(frozen=True, slots=True)
class FolderContext:
    """What a folder says of itself."""

    folder: str
    """Relative to the root, `.` for the root itself."""
    source: str
    text: str
