"""`notes`: what can be said of a folder of notes without a store."""

from pathlib import Path

import click

from ...services.sources.check import check_folder
from ..documents import render_vault_report, vault_report_json
from ..flags import PLAIN_JSON
from ..rendering import show


@click.group()
def notes() -> None:
    """Look at the notes of a folder and at their links.

    \b
    Example:
      mcp-memory notes check ~/notes
    """


@notes.command()
@click.argument("path", type=click.Path(path_type=Path))
@PLAIN_JSON
def check(path: Path, as_json: bool) -> None:
    """List broken and ambiguous links of PATH, notes without any link, and hubs.

    Links resolve as in `mcp-memory index`, and nothing is stored.

    \b
    Example:
      mcp-memory notes check ~/notes
      mcp-memory notes check ~/notes --json
    """
    report, refused = check_folder(path)
    show(vault_report_json(report, refused), render_vault_report(report, refused), as_json=as_json)
