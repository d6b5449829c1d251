"""Tools that take documents and code in."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from mcp.types import CallToolResult
from pydantic import Field

from ...services.code.runs import is_code
from ...services.sources.reports import FileProblem, IndexReport, IndexStatus
from ..answers import reply
from ..fence import label, ours
from ..strict_server import CHANGE, ServedTool, serving

MAX_NAMED = 5

What: TypeAlias = Annotated[Literal["documents", "code", "both"], Field(description="")]
FolderPath: TypeAlias = Annotated[str, Field(description="Absolute, within the folders its owner allows")]


class NoteTools:
    def __init__(self, _response_chars: int) -> None:
        self.tools = (
            ServedTool(self.index_directory, "Index a folder", CHANGE),
            ServedTool(self.index_file, "Index one file", CHANGE),
        )

    async def index_directory(self, path: FolderPath, what: What = "both", dry_run: bool = False) -> CallToolResult:
        """Read documents (Markdown, text, PDF) and source code of a folder, or what changed in it, so that its passages
        and symbols are found. Call it again after files changed, or to see how far a long run is."""
        service = serving.get()
        asked = [service.sources] if what == "documents" else [service.code_index]
        if what == "both":
            asked = [service.sources, service.code_index]
        return index_reply(*await asyncio.gather(*(each.start(path, dry_run=dry_run) for each in asked)))

    async def index_file(self, path: FolderPath) -> CallToolResult:
        """Read one file again after you changed it, so that what it says now is found."""
        service = serving.get()
        sources = service.code_index if is_code(path) else service.sources
        return index_reply(await sources.start(path))


def index_reply(*asked: IndexStatus) -> CallToolResult:
    """Of several, those that found nothing at all say nothing."""
    telling = [each for each in asked if not (each.last and is_empty(each.last))] or asked[:1]
    return reply(*map(ours, [line for status in telling for line in _lines(status)]))


def is_empty(report: IndexReport) -> bool:
    return not (report.documents or report.added or report.removed or report.renamed or report.refused)


def _lines(status: IndexStatus) -> list[str]:
    lines = [_report(status.last)] if status.last else []
    if status.failed:
        lines.append(f"The run did not come to its end: {status.failed}")
    if status.running:
        running = status.running
        lines.append(f"Under way: {running.doing}, {running.done} of {running.total}. Call again to see its end.")
    if status.stats.awaiting_vectors:
        what = "symbols" if status.last and status.last.code else "chunks"
        lines.append(f"{status.stats.awaiting_vectors} {what} are found by words only; their vectors are being made.")
    return [*lines, *(_left_out(status.last) if status.last else [])]


def _left_out(report: IndexReport) -> list[str]:
    if report.code:  # a project has hundreds that nobody wants to read: how many there are of each sort is enough
        return [f"Left out: {count}, for {reason}" for reason, count in report.code.left_out.items()]
    return _named("Left out", report.refused) + _named("Read in part", report.problems)


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
    would = "It would be" if report.dry_run else "Indexed"
    return f"{would}: {said}. {_total(report)}"


def _total(report: IndexReport) -> str:
    if report.code:
        references = ", ".join(f"{count} {sure}" for sure, count in report.code.certainty.items() if count)
        return f"{report.code.symbols} symbols in {report.documents} files; references: {references or 'none'}."
    links = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in report.links.items())
    return f"{report.documents} documents." + (f" Links: {links}." if links else "")
