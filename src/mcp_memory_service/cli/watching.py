"""Going on with an index run after each burst of changes, for documents and code alike."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from ..config import Settings
from ..errors import MemoryServiceError
from ..schemas import CodeIndexReportOut, IndexReportOut
from ..services import MemoryService
from ..services.sources.files import DOCUMENTS, FileChoice
from ..services.sources.watch import changes_below
from .local_service import open_local
from .terminal import say

Report = TypeVar("Report", IndexReportOut, CodeIndexReportOut)


async def watched(
    settings: Settings,
    indexed: Callable[[MemoryService], Awaitable[Report]],
    shown: Callable[[Report], None],
    choice: FileChoice = DOCUMENTS,
    *,
    polls: bool,
) -> None:
    """One run at the start, and one after each burst of changes."""
    async with open_local(settings, may_create=True) as service:
        report = await indexed(service)
        shown(report)
        say(f"Watching {report.root}; Ctrl-C ends it.", err=True)
        async for _ in changes_below(Path(report.path), choice, polls=polls):
            try:
                report = await indexed(service)
            except MemoryServiceError as error:
                say(f"Tried again with the next change: {error.message} [{error.code}]", err=True)
                continue
            if report.added or report.changed or report.removed or report.renamed:
                shown(report)
