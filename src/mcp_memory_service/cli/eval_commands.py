"""`mcp-memory eval`: measure the search, sweep its weights, fit them to a store."""

from pathlib import Path
from typing import Any

import click

from .flags import json_flag, ranking_flags, storage_flags

_CACHE = "Where vectors of evaluation texts are kept between runs [default: ~/.cache/mcp-memory-service]"


@click.group(name="eval")
def evaluation() -> None:
    """Measure how well memories are found, and fit the weights to a store.

    \b
    Example:
      mcp-memory eval run --data my-set --out results
      mcp-memory eval tune --dry-run
    """


@evaluation.command()
@click.option(
    "--data", "folders", multiple=True, required=True, type=click.Path(path_type=Path), help="A folder; may be repeated"
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results.json and results.svg")
@click.option("--tuned", is_flag=True, help="Also fit the weights to each set, as tune does, and measure them")
@click.option("--queries", type=click.IntRange(min=1), help="Ask only so many queries of each set, evenly chosen")
@click.option("--cache", type=click.Path(path_type=Path), help=_CACHE)
@json_flag
@ranking_flags
def run(folders: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """Measure vector, keyword and hybrid search on evaluation sets.

    A set is a folder with corpus.jsonl, queries.jsonl (each may be gzipped) and qrels.tsv. It is stored in a temporary
    store with the configured embeddings; your own memories are not touched.

    \b
    Example:
      mcp-memory eval run --data sets/scifact --data sets/cosqa --out results
    """
    from .evaluating import run_datasets

    run_datasets(folders, options, as_json=as_json)


@evaluation.command()
@click.option("--data", "folder", type=click.Path(path_type=Path), help="An evaluation set, as for run")
@click.option(
    "--ground-truth",
    type=click.Path(path_type=Path),
    help="Queries with the hashes of memories in your own store that they shall find",
)
@click.option("--weight", default="alpha", show_default=True, help="The weight to vary, such as tag_weight")
@click.option("--values", help="Values to try, comma-separated [default for alpha: 0 to 1 in steps of 0.1]")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for sweep.json and sweep.svg")
@click.option("--cache", type=click.Path(path_type=Path), help=_CACHE)
@json_flag
@storage_flags
@ranking_flags
def sweep(as_json: bool, **options: Any) -> None:
    """Show the quality for a range of values of one weight, and which is best.

    \b
    Example:
      mcp-memory eval sweep --data sets/cranfield
      mcp-memory eval sweep --ground-truth mine.json --weight tag_weight --values 0,0.5,1,2
    """
    from .evaluating import sweep_weight

    sweep_weight(options, as_json=as_json)


@evaluation.command()
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing")
@json_flag
@storage_flags
def tune(as_json: bool, **options: Any) -> None:
    """Fit the weights to your own memories; accepted only if they win on queries that did not choose them.

    Queries are made from your memories, on this machine and without any service, and from feedback if there is any.
    Weights that you set yourself always win over tuned ones. A server that is running takes them at its next start.

    \b
    Example:
      mcp-memory eval tune --dry-run
      mcp-memory eval tune
    """
    from .evaluating import tune_weights

    tune_weights(options, as_json=as_json)


@evaluation.command()
@json_flag
@storage_flags
def rollback(as_json: bool, **options: Any) -> None:
    """Put the tuned weights out of force; the ones before them count again.

    \b
    Example:
      mcp-memory eval rollback
    """
    from .evaluating import roll_back

    roll_back(options, as_json=as_json)
