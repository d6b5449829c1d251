"""What index runs of code answer."""

from typing import Self

from pydantic import BaseModel, Field

from ..services.sources.reports import CodeCounts, IndexedRoot, IndexReport, IndexStatus
from .indexing import MAX_LISTED, FileProblemOut, RunningOut, problems_out


class CodeCountsOut(BaseModel):
    """What the code of a folder consists of."""

    symbols: int
    edges: dict[str, int] = Field(description="By kind")
    certainty: dict[str, int] = Field(
        description="All edges but `contains`, by how sure they are; open: calls that were not resolved"
    )
    languages: dict[str, int] = Field(description="Files that were read")
    left_out: dict[str, int] = Field(description="Files and folders that were not, by the reason")

    @classmethod
    def of(cls, counts: CodeCounts) -> Self:
        return cls.model_validate(counts, from_attributes=True)


class CodeIndexReportOut(BaseModel):
    """What came of a run. Of each kind of file the first hundred are named."""

    root: str = Field(description="The folder within which references resolve")
    path: str = Field(description="What was asked for, which may be a part of it")
    dry_run: bool
    files: int = Field(description="Of code that the root has now")
    unchanged: int
    added: int
    changed: int
    removed: int
    renamed: int = Field(description="The same bytes under another name; counted neither as removed nor as added")
    refused: int = Field(description="Left out by name, by a rule or for what is in them")
    added_files: list[str]
    changed_files: list[str]
    removed_files: list[str]
    renamed_files: list[tuple[str, str]] = Field(description="From and to")
    refused_files: list[FileProblemOut] = Field(description="What was left out, and why")
    problems: list[FileProblemOut] = Field(description="Of files that were read all the same")
    symbols_created: int
    symbols_updated: int
    symbols_deleted: int
    code: CodeCountsOut | None = Field(description="All code of the root; null for a dry run")

    @classmethod
    def of(cls, report: IndexReport) -> Self:
        return cls(
            root=report.root,
            path=report.path,
            dry_run=report.dry_run,
            files=report.documents,
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
            refused_files=problems_out(report.refused),
            problems=problems_out(report.problems),
            symbols_created=report.chunks_created,
            symbols_updated=report.chunks_updated,
            symbols_deleted=report.chunks_deleted,
            code=CodeCountsOut.of(report.code) if report.code else None,
        )


class CodeRootOut(CodeCountsOut):
    root: str
    files: int
    settled: bool = Field(description="Whether the last run came to its end; if not, edges may lead to what was")

    @classmethod
    def of_root(cls, root: IndexedRoot) -> Self:
        counts = CodeCounts.of(root.said)
        return cls(root=root.root, files=root.documents, settled=root.settled, **CodeCountsOut.of(counts).model_dump())


class CodeIndexStatusOut(BaseModel):
    """What code is indexed."""

    roots: list[CodeRootOut]
    symbols: int = Field(description="Of all roots of the namespace")
    awaiting_vectors: int = Field(description="Symbols that are found by their words, and not by their meaning yet")
    running: RunningOut | None = Field(description="What goes on now")
    last: CodeIndexReportOut | None = Field(description="What came of the last run that was asked for here")
    failed: str | None = Field(description="Why that did not come to its end")

    @classmethod
    def of(cls, status: IndexStatus) -> Self:
        return cls(
            roots=[CodeRootOut.of_root(root) for root in status.roots],
            symbols=status.stats.memories,
            awaiting_vectors=status.stats.awaiting_vectors,
            running=RunningOut.model_validate(status.running, from_attributes=True) if status.running else None,
            last=CodeIndexReportOut.of(status.last) if status.last else None,
            failed=status.failed,
        )


class ForgottenCodeOut(BaseModel):
    files: int = Field(description="So many were taken out of the store; they stay as they are")
