"""What index runs answer, and where a chunk of a document stands."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import BaseModel, Field

from ..models import Memory
from ..services.sources.place import Place, place_of
from ..services.sources.reports import FileProblem, IndexReport, IndexStatus

MAX_LISTED = 100
"""Of the files of each kind in a report."""


class FileProblemOut(BaseModel):
    source: str
    reason: str


class IndexReportOut(BaseModel):
    """What came of a run. Of each kind of file the first hundred are named."""

    root: str = Field(description="The folder within which links resolve")
    path: str = Field(description="What was asked for, which may be a part of it")
    dry_run: bool
    documents: int = Field(description="That the root has now")
    unchanged: int
    added: int
    changed: int
    removed: int
    renamed: int = Field(description="The same bytes under another name; counted neither as removed nor as added")
    refused: int
    added_files: list[str]
    changed_files: list[str]
    removed_files: list[str]
    renamed_files: list[tuple[str, str]] = Field(description="From and to")
    refused_files: list[FileProblemOut] = Field(description="What was left out, and why")
    problems: list[FileProblemOut] = Field(description="Of files that were read all the same")
    chunks_created: int
    chunks_updated: int
    chunks_deleted: int
    links: dict[str, int] = Field(description="The links of all documents of the root, by what became of them")

    @classmethod
    def of(cls, report: IndexReport) -> Self:
        return cls(
            root=report.root,
            path=report.path,
            dry_run=report.dry_run,
            documents=report.documents,
            unchanged=report.unchanged,
            added=len(report.added),
            changed=len(report.changed),
            removed=len(report.removed),
            renamed=len(report.renamed),
            refused=len(report.refused),
            added_files=report.added[:MAX_LISTED],
            changed_files=report.changed[:MAX_LISTED],
            removed_files=report.removed[:MAX_LISTED],
            renamed_files=report.renamed[:MAX_LISTED],
            refused_files=_problems(report.refused),
            problems=_problems(report.problems),
            chunks_created=report.chunks_created,
            chunks_updated=report.chunks_updated,
            chunks_deleted=report.chunks_deleted,
            links=dict(report.links),
        )


def _problems(problems: Sequence[FileProblem]) -> list[FileProblemOut]:
    return [FileProblemOut.model_validate(each, from_attributes=True) for each in problems[:MAX_LISTED]]


class IndexedRootOut(BaseModel):
    root: str
    documents: int
    settled: bool = Field(
        description="Whether the last run came to its end, and nothing was taken out of the folder since"
    )
    links: dict[str, int]


class RunningOut(BaseModel):
    path: str
    doing: str
    done: int
    total: int


class IndexStatusOut(BaseModel):
    """What is indexed."""

    roots: list[IndexedRootOut]
    memories: int = Field(description="Of the namespace, plain ones as well")
    awaiting_vectors: int = Field(description="Those that are found by their words, and not by their meaning yet")
    embedding_coverage: float = Field(description="Which part of the memories is found by meaning as well, 0 to 1")
    running: RunningOut | None = Field(description="What goes on now")
    last: IndexReportOut | None = Field(description="What came of the last run that was asked for here")
    failed: str | None = Field(description="Why that did not come to its end")

    @classmethod
    def of(cls, status: IndexStatus) -> Self:
        return cls(
            roots=[IndexedRootOut.model_validate(root, from_attributes=True) for root in status.roots],
            memories=status.stats.memories,
            awaiting_vectors=status.stats.awaiting_vectors,
            embedding_coverage=status.stats.embedding_coverage,
            running=RunningOut.model_validate(status.running, from_attributes=True) if status.running else None,
            last=IndexReportOut.of(status.last) if status.last else None,
            failed=status.failed,
        )


class ForgottenOut(BaseModel):
    documents: int = Field(description="So many were taken out; the files stay as they are")


class PlaceOut(BaseModel):
    """Where in which document a chunk stands."""

    path: str = Field(description="Relative to the folder that was indexed")
    title: str
    heading_path: list[str] = Field(description="The title and the headings above it")
    first_line: int
    last_line: int
    link: str = Field(description="As a note would link to it")
    freshness: Literal["fresh", "stale", "missing"] | None = Field(
        default=None,
        exclude_if=lambda freshness: freshness is None,
        description="Of a search: whether the file still has this text",
    )

    @classmethod
    def of(cls, memory: Memory, freshness: Literal["fresh", "stale", "missing"] | None = None) -> Self | None:
        place: Place | None = place_of(memory)
        if place is None:
            return None
        return cls(
            path=place.path,
            title=place.heading_path[0] if place.heading_path else "",
            heading_path=list(place.heading_path),
            first_line=place.first_line,
            last_line=place.last_line,
            link=place.link,
            freshness=freshness,
        )
