"""Commands that show what is remembered."""

import click

from ...config import Settings
from ...schemas import ExplainOut, ListIn, ListOut, RetrieveIn, RetrieveOut, StatsOut
from ..flags import JSON, LISTING, RANKING, STORAGE, parsed_as, with_settings
from ..local_service import ask
from ..rendering import render_explanation, render_hits, render_memories, render_stats, show


@click.command()
@click.argument("query")
@LISTING
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "keyword"]), default="hybrid", show_default=True)
@click.option("--no-tags", is_flag=True, help="Do not look for tags in the query")
@click.option("--min-similarity", type=float, help="Least cosine similarity of vector hits")
@click.option("--vector-threshold", type=float, help="Another name of --min-similarity")
@click.option("--alpha", type=float, help="Weight of the vector signal for this search")
@click.option("--fts-weight", type=float, help="Weight of words and tags, with --vector-weight in place of --alpha")
@click.option("--vector-weight", type=float, help="Weight of meaning, with --fts-weight in place of --alpha")
@click.option("--explain", "explained_hash", metavar="CONTENT_HASH", help="Say why this memory is where it is")
@click.option("--debug", is_flag=True, help="Show how each score came about")
@click.option("--full", is_flag=True, help="Show whole contents, not only their beginning or best passages")
@JSON
@with_settings({**STORAGE, **RANKING})
@parsed_as(RetrieveIn)
def search(asked: RetrieveIn, no_tags: bool, explained_hash: str | None, settings: Settings, as_json: bool) -> None:
    """Find what is remembered about QUERY, best first.

    \b
    Example:
      mcp-memory search "rathole project architecture" --limit 5 --debug
      mcp-memory search "ECONNREFUSED" --mode keyword
    """
    if no_tags and asked.tags:
        raise click.UsageError("--no-tags and --tag exclude each other.")
    request = asked.model_copy(update={"tags": []} if no_tags else {}).request()
    if explained_hash is not None:
        explained = ExplainOut.of(ask(settings, lambda service: service.explain(request, explained_hash)))
        show(explained, render_explanation(explained), as_json=as_json)
        return
    out = RetrieveOut.of(ask(settings, lambda service: service.search(request)))
    show(out, render_hits(out, full=asked.full), as_json=as_json)


@click.command("list")
@LISTING
@click.option("--full", is_flag=True, help="Show whole contents, as --json always does")
@JSON
@with_settings()
@parsed_as(ListIn)
def list_memories(asked: ListIn, settings: Settings, as_json: bool) -> None:
    """List memories, newest first.

    \b
    Example:
      mcp-memory list --tag rathole --limit 20
    """
    # Whole, for what is listed as JSON may be imported elsewhere.
    out = ListOut.of(ask(settings, lambda service: service.list_memories(asked.request())), full=True)
    show(out, render_memories(out, full=asked.full), as_json=as_json)


@click.command()
@JSON
@with_settings()
def stats(settings: Settings, as_json: bool) -> None:
    """Show how much is stored, and with which model.

    \b
    Example:
      mcp-memory stats --json
    """
    out = StatsOut.of(ask(settings, lambda service: service.stats()))
    show(out, render_stats(out, settings.store), as_json=as_json)
