"""What doctor, backup and restore say of a store as a whole."""

from dataclasses import dataclass
from pathlib import Path

DATABASE_DAMAGED = "database_damaged"
"""The one finding after which nothing else can be relied on."""
ONE_MEMORY_ONLY = frozenset({"content_changed", "metadata_malformed"})
"""Findings about single memories; everything else can still be repaired."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong."""

    code: str
    message: str
    rebuildable: bool = True
    """Whether it can be made right from the rows."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was looked at, and what is wrong with it."""

    schema_version: int
    memories: int
    vectors: int
    tags: int
    findings: tuple[Finding, ...]
    is_older: bool = False
    """Of an earlier schema version: only its pages were looked at."""
    warnings: tuple[Finding, ...] = ()
    """What costs time, but no memory: the store is sound."""
    awaiting_vectors: int = 0
    """How many memories of sources have no vectors yet, which is no fault: a running service makes them."""

    @property
    def sound(self) -> bool:
        return not self.findings

    @property
    def reasons(self) -> str:
        return " ".join(finding.message for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was wrong, what still is, and where the file is kept as it was before."""

    before: Inspection
    after: Inspection
    copy: Path | None

    @property
    def mended(self) -> list[Finding]:
        still_wrong = {finding.code for finding in (*self.after.findings, *self.after.warnings)}
        found = (*self.before.findings, *self.before.warnings)
        return [finding for finding in found if finding.code not in still_wrong]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds."""

    format: int
    created_at: str
    schema_version: int
    embedding_model: str
    embedding_dimension: int | None
    memories: int
    vectors: int
    tags: int
    database_bytes: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back."""

    manifest: Manifest
    copy: Path | None
    """What was there before, if anything was."""
