"""What came of an index run, and what is indexed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...models import StoreStats


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that was left out, or a part of one, and why."""

    source: str
    reason: str


@dataclass
class IndexReport:
    """Filled while a run goes on; a run that only looks says what it would have done."""

    root: str
    path: str
    """What was asked for, which may be a part of the root."""
    dry_run: bool = False
    documents: int = 0
    """That the root has after the run."""
    unchanged: int = 0
    added: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    renamed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """From and to: the same bytes under another name; listed neither as removed nor as added."""
    refused: list[FileProblem] = field(default_factory=list[FileProblem])
    problems: list[FileProblem] = field(default_factory=list[FileProblem])
    """Of files that were read all the same."""
    chunks_created: int = 0
    chunks_updated: int = 0
    chunks_deleted: int = 0
    links: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of all documents of the root: how many links there are by what became of them."""


@dataclass(frozen=True, slots=True)
class IndexedRoot:
    root: str
    documents: int
    settled: bool
    """Whether the last run came to its end, and nothing was taken out since: else the next one looks at all again."""
    links: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Running:
    """How far work that goes on has come."""

    path: str
    doing: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class IndexStatus:
    roots: tuple[IndexedRoot, ...]
    stats: StoreStats
    running: Running | None = None
    last: IndexReport | None = None
    """Of the last run that was started through this service."""
    failed: str | None = None
    """Why it did not come to its end."""
