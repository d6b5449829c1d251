"""Folders of documents: `index` takes them in, `notes check` looks at their links."""

import asyncio
import sys
from pathlib import Path

import click

from ...access.error_table import ExitCode
from ...config import Settings
from ...errors import MemoryServiceError
from ...schemas import ForgottenOut, IndexReportOut, IndexStatusOut
from ...services import MemoryService
from ...services.sources.watch import changes_below
from ..documents import render_forgotten, render_index_report, render_index_status
from ..flags import JSON, STORAGE, with_settings
from ..local_service import ask, open_local
from ..progress import ProgressLine
from ..rendering import show
from ..terminal import say


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Go on, and index what changes, until it is interrupted")
@click.option("--poll", is_flag=True, help="With --watch: look for changes again and again, as network mounts need")
@click.option("--dry-run", is_flag=True, help="Only say what would be done")
@click.option("--no-vectors", is_flag=True, help="Do not wait for vectors: a service, or the next run, makes them")
@click.option("--forget", is_flag=True, help="Take PATH out of the memories; the files stay as they are")
@JSON
@with_settings(STORAGE)
def index(
    path: Path | None,
    watch: bool,
    poll: bool,
    dry_run: bool,
    no_vectors: bool,
    forget: bool,
    settings: Settings,
    as_json: bool,
) -> None:
    """Take in PATH, a folder or file of Markdown, text or PDF, or what changed in it.

    Its chunks are then found beside memories, and its [[links]] count in the ranking. Run again, only what changed is
    read. Without PATH, show what is indexed.

    \b
    Example:
      mcp-memory index ~/notes
      mcp-memory index ~/notes --watch
      mcp-memory search "how do we back up" --kind note
    """
    if sum((watch, dry_run, forget)) > 1:
        raise click.UsageError("--watch, --dry-run and --forget exclude each other.")
    if path is None:
        if watch or dry_run or forget:
            raise click.UsageError("Name a folder or a file.")
        status = IndexStatusOut.of(ask(settings, lambda service: service.sources.status()))
        show(status, render_index_status(status), as_json=as_json)
    elif forget:
        out = ForgottenOut(documents=ask(settings, lambda service: service.sources.forget(path)))
        show(out, render_forgotten(out, path), as_json=as_json)
    elif watch:
        asyncio.run(_watch(settings, path, polls=poll, no_vectors=no_vectors, as_json=as_json))
    else:
        report = ask(settings, lambda service: _indexed(service, path, dry_run, no_vectors), may_create=True)
        show(report, render_index_report(report), as_json=as_json)
        if any(each.source == report.path for each in report.refused_files):  # what was asked for itself
            sys.exit(ExitCode.BAD_INPUT)


async def _indexed(service: MemoryService, path: Path, dry_run: bool, no_vectors: bool) -> IndexReportOut:
    progress = ProgressLine()
    report = IndexReportOut.of(await service.sources.index(path, dry_run=dry_run, progress=progress))
    if not dry_run and not no_vectors:
        await service.sources.embed(progress)
    return report


async def _watch(settings: Settings, path: Path, *, polls: bool, no_vectors: bool, as_json: bool) -> None:
    """One run at the start, and one after each burst of changes."""
    async with open_local(settings, may_create=True) as service:
        report = await _indexed(service, path, False, no_vectors)
        show(report, render_index_report(report), as_json=as_json)
        say(f"Watching {report.root}; Ctrl-C ends it.", err=True)
        async for _ in changes_below(Path(report.path), polls=polls):
            try:
                report = await _indexed(service, path, False, no_vectors)
            except MemoryServiceError as error:
                say(f"Tried again with the next change: {error.message} [{error.code}]", err=True)
                continue
            if report.added or report.changed or report.removed or report.renamed:
                show(report, render_index_report(report), as_json=as_json)
