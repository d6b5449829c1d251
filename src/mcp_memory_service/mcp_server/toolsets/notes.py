"""Tools that take documents in."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from mcp.types import CallToolResult
from pydantic import Field

from ...services.sources.reports import FileProblem, IndexReport, IndexStatus
from ..answers import reply
from ..fence import label, ours
from ..strict_server import CHANGE, ServedTool, serving

MAX_NAMED = 5

FolderPath: TypeAlias = Annotated[str, Field(description="Absolute, within the folders its owner allows")]


class NoteTools:
    def __init__(self, _response_chars: int) -> None:
        self.tools = (
            ServedTool(self.index_directory, "Index a folder of notes", CHANGE),
            ServedTool(self.index_file, "Index one file", CHANGE),
        )

    async def index_directory(self, path: FolderPath, dry_run: bool = False) -> CallToolResult:
        """Read a folder of Markdown, text and PDF files, or what changed in it, so that retrieve_memory finds its
        passages. Call it again after files changed, or to see how far a long run is."""
        return index_reply(await serving.get().sources.start(path, dry_run=dry_run))

    async def index_file(self, path: FolderPath) -> CallToolResult:
        """Read one file again after you changed it, so that retrieve_memory finds what it says now."""
        return index_reply(await serving.get().sources.start(path))


def index_reply(status: IndexStatus) -> CallToolResult:
    lines = [_report(status.last)] if status.last else []
    if status.failed:
        lines.append(f"The run did not come to its end: {status.failed}")
    if status.running:
        running = status.running
        lines.append(f"Under way: {running.doing}, {running.done} of {running.total}. Call again to see its end.")
    if status.stats.awaiting_vectors:
        lines.append(f"{status.stats.awaiting_vectors} chunks are found by words only; their vectors are being made.")
    if status.last:
        lines += _named("Left out", status.last.refused) + _named("Read in part", status.last.problems)
    return reply(*map(ours, lines))


def _named(what: str, files: Sequence[FileProblem]) -> list[str]:
    more = [f"and {len(files) - MAX_NAMED} more"] if len(files) > MAX_NAMED else []
    return [f"{what}: {label(each.source)} ({label(each.reason)})" for each in files[:MAX_NAMED]] + more


def _report(report: IndexReport) -> str:
    counts = {
        "added": len(report.added),
        "changed": len(report.changed),
        "renamed": len(report.renamed),
        "removed": len(report.removed),
        "unchanged": report.unchanged,
        "left out": len(report.refused),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing to index"
    links = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in report.links.items())
    would = "It would be" if report.dry_run else "Indexed"
    return f"{would}: {said}. {report.documents} documents." + (f" Links: {links}." if links else "")
