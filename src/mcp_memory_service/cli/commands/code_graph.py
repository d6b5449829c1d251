"""`code callers|callees|chain|linked|impact|stats`: questions to the code graph."""

from typing import Any

import click

from ...config import Settings
from ...schemas.code import CallsOut, ChainOut
from ...schemas.code_findings import CodeStatsOut, ImpactOut, LinkedOut
from ...schemas.code_questions import CallsIn, ChainIn, ImpactIn, LinkedIn
from ...services.code.answers import CERTAINTIES, RELATIONS, Direction
from ..code_graph import render_calls, render_chain, render_code_stats, render_impact, render_linked
from ..flags import JSON, parsed, together, with_settings
from ..local_service import ask
from ..rendering import show

WITHIN = together(
    click.option("--project", help="Its folder, or the end of that"),
    click.option("--path", help="Only symbols of this file or folder"),
)
WALK = together(
    click.option("--depth", type=int, default=1, show_default=True, help="So many steps away"),
    click.option("--limit", type=int, default=20, show_default=True, help="Symbols on a page"),
    click.option("--cursor", help="Where the page before ended"),
    click.option("--detail", type=click.Choice(["names", "signatures", "code"]), default="names", show_default=True),
    click.option("--max-tokens", type=int, help="About so many tokens of symbols"),
    click.option(
        "--min-certainty", type=click.Choice(CERTAINTIES), default="guess", help="Leave out what is less sure"
    ),
    click.option("--kind", "kinds", multiple=True, type=click.Choice(RELATIONS), help="calls, if none is given"),
    WITHIN,
)


@click.command()
@click.argument("symbol")
@WALK
@JSON
@with_settings()
def callers(symbol: str, settings: Settings, as_json: bool, **options: Any) -> None:
    """Show who calls SYMBOL, and at which lines.

    SYMBOL is a dotted name or its end, FILE:LINE, a file, or an id.

    \b
    Example:
      mcp-memory code callers Store.save
      mcp-memory code callers src/app.py:42 --depth 3 --min-certainty likely
    """
    _walk("callers", symbol, settings, options, as_json=as_json)


@click.command()
@click.argument("symbol")
@WALK
@JSON
@with_settings()
def callees(symbol: str, settings: Settings, as_json: bool, **options: Any) -> None:
    """Show what SYMBOL calls, and at which lines.

    \b
    Example:
      mcp-memory code callees Store.save --detail signatures
    """
    _walk("callees", symbol, settings, options, as_json=as_json)


def _walk(direction: Direction, symbol: str, settings: Settings, options: dict[str, Any], *, as_json: bool) -> None:
    options = options | {"symbol": symbol, "kinds": list(options["kinds"]) or ["calls"]}
    request = parsed(CallsIn, options).request(direction)
    out = CallsOut.of(ask(settings, lambda service: service.code_graph.calls(request)))
    show(out, render_calls(out), as_json=as_json)


@click.command()
@click.argument("origin", metavar="FROM")
@click.argument("goal", metavar="TO")
@click.option("--max-depth", type=int, default=6, show_default=True, help="Longer ways are not looked for")
@click.option("--project", help="Its folder, or the end of that")
@JSON
@with_settings()
def chain(origin: str, goal: str, settings: Settings, as_json: bool, **options: Any) -> None:
    """Show the shortest ways of calls that lead from FROM to TO.

    \b
    Example:
      mcp-memory code chain main Store.save
    """
    request = parsed(ChainIn, options | {"from": origin, "to": goal}).request()
    out = ChainOut.of(ask(settings, lambda service: service.code_graph.chain(request)))
    show(out, render_chain(out), as_json=as_json)


@click.command()
@click.argument("symbol")
@click.option("--limit", type=int, default=10, show_default=True, help="Of what was said")
@WITHIN
@JSON
@with_settings()
def linked(symbol: str, settings: Settings, as_json: bool, **options: Any) -> None:
    """Show SYMBOL, or what a question finds, with its calls and what was said about it.

    \b
    Example:
      mcp-memory code linked authenticate_user
      mcp-memory code linked "where are passwords checked"
    """
    request = parsed(LinkedIn, options | {"symbol": symbol}).request()
    out = LinkedOut.of(ask(settings, lambda service: service.code_graph.linked(request)))
    show(out, render_linked(out), as_json=as_json)


@click.command()
@click.argument("symbol")
@click.option("--depth", type=int, default=3, show_default=True, help="Callers so many steps away")
@click.option("--limit", type=int, default=10, show_default=True, help="Shown of each group")
@WITHIN
@JSON
@with_settings()
def impact(symbol: str, settings: Settings, as_json: bool, **options: Any) -> None:
    """Show what a change of SYMBOL may touch, and how risky it is.

    \b
    Example:
      mcp-memory code impact Store.save
    """
    request = parsed(ImpactIn, options | {"symbol": symbol}).request()
    out = ImpactOut.of(ask(settings, lambda service: service.code_graph.impact(request)))
    show(out, render_impact(out), as_json=as_json)


@click.command()
@JSON
@with_settings()
def stats(settings: Settings, as_json: bool) -> None:
    """Show how much code is indexed, how far its calls are resolved, and what has changed since.

    \b
    Example:
      mcp-memory code stats
    """
    out = CodeStatsOut.of(ask(settings, lambda service: service.code_graph.stats()))
    show(out, render_code_stats(out), as_json=as_json)


QUESTIONS: tuple[click.Command, ...] = (callers, callees, chain, linked, impact, stats)
