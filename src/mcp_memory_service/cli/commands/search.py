"""Commands that show what is remembered."""

from dataclasses import replace

import click

from ...config import Settings
from ...schemas import ExplainOut, ListIn, ListOut, PagedOut, RetrieveIn, RetrieveOut, StatsOut
from ...services import MemoryService
from ...services.write.checks import MAX_PAGE_SIZE
from ..flags import JSON, LIFE_FILTERS, LISTING, RANKING, RERANKING, STORAGE, parsed_as, with_settings
from ..local_service import ask
from ..pages import whole_page
from ..rendering import render_explanation, render_hits, render_memories, render_stats, show


@click.command()
@click.argument("query")
@LISTING
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "keyword"]), default="hybrid", show_default=True)
@click.option("--no-tags", is_flag=True, help="Do not look for tags in the query")
@click.option("--min-similarity", type=float, help="Least cosine similarity of vector hits")
@click.option(
    "--min-confidence", type=click.Choice(["high", "low"]), help="Show nothing, if the search is less sure of an answer"
)
@click.option("--vector-threshold", type=float, help="Another name of --min-similarity")
@click.option("--alpha", type=float, help="Weight of the vector signal for this search")
@click.option("--fts-weight", type=float, help="Weight of words and tags, with --vector-weight in place of --alpha")
@click.option("--vector-weight", type=float, help="Weight of meaning, with --fts-weight in place of --alpha")
@click.option("--as-of", help="Answer as it would have then: ISO 8601, 7d, last week, 2026-05")
@click.option("--rerank/--no-rerank", default=None, help="Put the first results in order by a cross-encoder, or do not")
@click.option("--explain", "explained_hash", metavar="ID", help="Say why this memory is where it is")
@click.option("--debug", is_flag=True, help="Show how each score came about")
@click.option("--full", is_flag=True, help="Show whole contents, not only their beginning or best passages")
@JSON
@with_settings({**STORAGE, **RANKING, **RERANKING})
@parsed_as(RetrieveIn)
def search(
    asked: RetrieveIn, limit: int, no_tags: bool, explained_hash: str | None, settings: Settings, as_json: bool
) -> None:
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
        request = replace(request, page_size=min(limit, MAX_PAGE_SIZE))
        explained = ExplainOut.of(ask(settings, lambda service: service.explain(request, explained_hash)))
        show(explained, render_explanation(explained), as_json=as_json)
        return

    async def found(service: MemoryService) -> tuple[RetrieveOut, int]:
        async def part(page: int, size: int) -> RetrieveOut:
            return RetrieveOut.of(await service.search(replace(request, page=page, page_size=size)))

        # Of one document only some chunks are on a page of the service.
        out = await whole_page(part, asked.page, limit, are_full=False)
        return out, await _stored(service, out)

    out, stored = ask(settings, found)
    show(out, render_hits(out, stored, full=asked.full), as_json=as_json)


@click.command("list")
@LISTING
@LIFE_FILTERS
@click.option("--full", is_flag=True, help="Show whole contents, as --json always does")
@JSON
@with_settings()
@parsed_as(ListIn)
def list_memories(asked: ListIn, limit: int, settings: Settings, as_json: bool) -> None:
    """List memories, newest first.

    \b
    Example:
      mcp-memory list --tag rathole --limit 20
    """

    async def listed(service: MemoryService) -> tuple[ListOut, int]:
        async def part(page: int, size: int) -> ListOut:
            # Whole, for what is listed as JSON may be imported elsewhere.
            request = replace(asked.request(), page=page, page_size=size)
            return ListOut.of(await service.list_memories(request), full=True)

        out = await whole_page(part, asked.page, limit, are_full=True)
        return out, await _stored(service, out)

    out, stored = ask(settings, listed)
    show(out, render_memories(out, stored, full=asked.full), as_json=as_json)


async def _stored(service: MemoryService, out: PagedOut) -> int:
    """How many memories there are to find; counted only where nothing was found."""
    return out.total or (await service.stats()).memories


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
