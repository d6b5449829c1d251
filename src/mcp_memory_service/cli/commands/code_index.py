"""`code index` takes code in; `code edges` lists what refers to what, without a store."""

import asyncio
from pathlib import Path

import click

from ...config import Settings
from ...schemas import CodeIndexReportOut, CodeIndexStatusOut, ForgottenCodeOut
from ...services import MemoryService
from ..code_listing import edge_lines, render_code_report, render_code_status, render_edges
from ..flags import JSON, PLAIN_JSON, STORAGE, with_settings
from ..local_service import ask
from ..progress import ProgressLine
from ..rendering import show
from ..terminal import printable_json, say
from ..watching import watched


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Go on, and index what changes, until it is interrupted")
@click.option("--poll", is_flag=True, help="With --watch: look for changes again and again, as network mounts need")
@click.option("--dry-run", is_flag=True, help="Only say what would be read")
@click.option("--full-refresh", is_flag=True, help="Read every file again, whatever is known of it")
@click.option("--no-vectors", is_flag=True, help="Do not wait for vectors: a service, or the next run, makes them")
@click.option("--forget", is_flag=True, help="Take the symbols of PATH out; the files stay as they are")
@JSON
@with_settings(STORAGE)
def index(
    path: Path | None,
    watch: bool,
    poll: bool,
    dry_run: bool,
    full_refresh: bool,
    no_vectors: bool,
    forget: bool,
    settings: Settings,
    as_json: bool,
) -> None:
    """Read the code at PATH, a folder or a file, or what changed in it.

    Python, JavaScript and TypeScript are read; vendored folders, bundles and what .gitignore names are left out, and
    counted. Without PATH, show what is indexed.

    \b
    Example:
      mcp-memory code index ~/project
      mcp-memory code index ~/project --watch
    """
    if sum((watch, dry_run, forget)) > 1 or (full_refresh and (watch or forget)):
        raise click.UsageError(
            "--watch, --dry-run and --forget exclude each other, and --full-refresh the first and last."
        )
    if path is None:
        if watch or dry_run or forget or full_refresh:
            raise click.UsageError("Name a folder or a file.")
        status = CodeIndexStatusOut.of(ask(settings, lambda service: service.code_index.status()))
        show(status, render_code_status(status), as_json=as_json)
    elif forget:
        out = ForgottenCodeOut(files=ask(settings, lambda service: service.code_index.forget(path)))
        show(out, f"{out.files} files taken out; they stay as they are.", as_json=as_json)
    elif watch:
        from ...services.code.code_files import CODE  # noqa: PLC0415 - with the parsers

        asyncio.run(
            watched(
                settings,
                lambda service: _indexed(service, path, False, False, no_vectors),
                lambda report: show(report, render_code_report(report), as_json=as_json),
                CODE,
                polls=poll,
            )
        )
    else:
        report = ask(
            settings, lambda service: _indexed(service, path, dry_run, full_refresh, no_vectors), may_create=True
        )
        show(report, render_code_report(report), as_json=as_json)


async def _indexed(
    service: MemoryService, path: Path, dry_run: bool, anew: bool, no_vectors: bool
) -> CodeIndexReportOut:
    progress = ProgressLine()
    run = service.code_index.index(path, dry_run=dry_run, anew=anew, progress=progress)
    report = CodeIndexReportOut.of(await run)
    if not dry_run and not no_vectors:
        await service.code_index.embed(progress)
    return report


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--kind", "kinds", multiple=True, help="Only these, such as calls; may be repeated")
@PLAIN_JSON
def edges(path: Path, kinds: tuple[str, ...], as_json: bool) -> None:
    """List what refers to what in the code at PATH, a line for each place; nothing is stored.

    With --json each line is an object: caller, callee, path, line, kind, class (how sure it is), and the paths of both.

    \b
    Example:
      mcp-memory code edges ~/project --kind calls
      mcp-memory code edges ~/project --json > edges.jsonl
    """
    from ...services.code.listing import edges_below  # noqa: PLC0415 - with the parsers

    listing = edges_below(path, ProgressLine()).of_kinds(kinds)
    if not as_json:
        say(render_edges(listing))
        return
    for line in edge_lines(listing):
        click.echo(printable_json(line))
