"""`mcp-memory eval`: measure the search, sweep its weights, fit them to a store."""

import asyncio
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ...config import Settings, load_settings
from ...errors import ConfigurationError
from ...evaluation.dataset import Dataset, load_dataset
from ...evaluation.ground_truth import load_ground_truth
from ...evaluation.plots import plot_reports, plot_sweep, require_plotting
from ...evaluation.policies import changed_policy
from ...evaluation.report import DatasetReport, render_report, report_json
from ...evaluation.sweep import ALPHAS, SWEPT_WEIGHTS, render_sweep, sweep_json
from ...evaluation.tuning import render_tuning, tuning_json
from ...evaluation.use_cases import (
    RunOptions,
    StoreTuning,
    roll_back_tuning,
    run_dataset,
    sweep_dataset,
    sweep_store,
    tune_store,
)
from ..flags import JSON, RANKING, RERANKING, STORAGE, with_settings
from ..progress import ProgressLine
from ..rendering import show
from ..terminal import say

CACHE = click.option(
    "--cache",
    type=click.Path(path_type=Path),
    help="Where vectors of evaluation texts are kept between runs [default: ~/.cache/mcp-memory-service]",
)


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
@click.option(
    "--filtered/--no-filtered",
    default=True,
    show_default=True,
    help="Of a set with several collections, also measure them in one store, told apart by a filter",
)
@click.option(
    "--compare",
    "compared",
    multiple=True,
    metavar="NAME=VALUE[,…]",
    help="Also rank with other numbers, such as fusion=rrf or hybrid_alpha=0.5; may be repeated",
)
@click.option("--queries", type=click.IntRange(min=1), help="Ask only so many queries of each set, evenly chosen")
@CACHE
@JSON
@with_settings({**RANKING, **RERANKING})
def run(
    folders: tuple[Path, ...],
    out: Path | None,
    tuned: bool,
    filtered: bool,
    compared: tuple[str, ...],
    queries: int | None,
    cache: Path | None,
    settings: Settings,
    as_json: bool,
) -> None:
    """Measure vector, keyword and hybrid search on evaluation sets.

    A set is a folder with corpus.jsonl, queries.jsonl (each may be gzipped) and qrels.tsv. It is stored in a temporary
    store with the configured embeddings; your own memories are not touched. If it has links.tsv, hybrid search is also
    measured without the links, and with a re-ranker if one is configured.

    \b
    Example:
      mcp-memory eval run --data sets/scifact --data sets/cosqa --out results
      mcp-memory eval run --data sets/scifact --compare fusion=rrf --compare hybrid_alpha=0.5
      mcp-memory eval run --data sets/scifact --rerank-backend onnx --rerank-folder ~/models/ms-marco-MiniLM-L-6-v2
    """
    policy = settings.hybrid.policy()
    options = RunOptions(tuned, filtered, {changes: changed_policy(policy, changes) for changes in compared})
    if out:
        _require_writable(out)
    datasets = [_loaded(folder, queries) for folder in folders]
    reports: list[DatasetReport] = []
    results: list[dict[str, Any]] = []
    for dataset in datasets:
        report, tuning = asyncio.run(run_dataset(dataset, settings, _cache_file(cache), ProgressLine(), options))
        reports.append(report)
        results.append(report_json(report, policy, tuning))
        if not as_json:
            say(render_report(report) + "\n" + (f"\n{render_tuning(tuning)}\n" if tuning else ""))
        if out:  # after each set: what was measured is kept if a later one fails
            _write_json(out / "results.json", results)
            plot_reports(reports, out / "results.svg")
    if as_json:
        click.echo(json.dumps(results, indent=2))


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
@CACHE
@JSON
@with_settings({**STORAGE, **RANKING})
def sweep(
    folder: Path | None,
    ground_truth: Path | None,
    weight: str,
    values: str | None,
    out: Path | None,
    cache: Path | None,
    settings: Settings,
    as_json: bool,
) -> None:
    """Show the quality for a range of values of one weight, and which is best.

    \b
    Example:
      mcp-memory eval sweep --data sets/cranfield
      mcp-memory eval sweep --ground-truth mine.json --weight tag_weight --values 0,0.5,1,2
    """
    tried = _values_of(weight, values, settings)
    if out:
        _require_writable(out)
    if folder and not ground_truth:
        work = sweep_dataset(_loaded(folder), settings, _cache_file(cache), weight, tried, ProgressLine())
    elif ground_truth and not folder:
        work = sweep_store(load_ground_truth(ground_truth), settings, weight, tried, ProgressLine())
    else:
        raise click.UsageError("Give either --data or --ground-truth.")
    rows = asyncio.run(work)
    result = sweep_json(rows, weight)
    if out:
        _write_json(out / "sweep.json", result)
        plot_sweep(rows, weight, out / "sweep.svg")
    show(result, render_sweep(rows, weight), as_json=as_json)


@evaluation.command()
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing")
@JSON
@with_settings()
def tune(dry_run: bool, settings: Settings, as_json: bool) -> None:
    """Fit the weights to your own memories; accepted only if they win on queries that did not choose them.

    Queries are made from your memories, on this machine and without any service, and from feedback if there is any.
    Weights that you set yourself always win over tuned ones. A server that is running takes them at its next start.

    \b
    Example:
      mcp-memory eval tune --dry-run
      mcp-memory eval tune
    """
    tuned = asyncio.run(tune_store(settings, ProgressLine(), save=not dry_run))
    made, said = tuned.known_items, tuned.feedback_queries
    text = (
        f"{tuned.memories} memories, {made} queries made from them, {said} from feedback.",
        render_tuning(tuned.report),
        _outcome(tuned, dry_run=dry_run),
    )
    result = asdict(tuned) | {"report": tuning_json(tuned.report), "reason": tuned.report.reason}
    show(result, "\n\n".join(text), as_json=as_json)


@evaluation.command()
@JSON
@with_settings()
def rollback(settings: Settings, as_json: bool) -> None:
    """Put the tuned weights out of force; the ones before them count again.

    \b
    Example:
      mcp-memory eval rollback
    """
    undone, current = asyncio.run(roll_back_tuning(settings))
    text = "No tuned weights are in force."
    if undone:
        now = f"version {current.version} counts again" if current else "the defaults count again"
        text = f"Version {undone.version} is out of force; {now}. A running server takes this at its next start."
    result = {"rolled_back": asdict(undone) if undone else None, "current": asdict(current) if current else None}
    show(result, text, as_json=as_json)


def _values_of(weight: str, text: str | None, settings: Settings) -> list[float]:
    if weight not in SWEPT_WEIGHTS:
        raise click.UsageError(f"--weight must be one of {', '.join(SWEPT_WEIGHTS)}.")
    unused = {"rrf_k"} if settings.hybrid.fusion == "score" else {"vector_trust", "neighbour_weight", "graph_weight"}
    if weight in unused:
        raise click.UsageError(f"{weight} has no effect with MCP_MEMORY_FUSION={settings.hybrid.fusion}.")
    if text is None:
        if weight != "alpha":
            raise click.UsageError(f"--values is needed for {weight}, such as --values 0,0.5,1.")
        return list(ALPHAS)
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise click.UsageError("--values must be numbers, divided by commas.") from None
    for value in values:
        load_settings({SWEPT_WEIGHTS[weight]: value})  # refuses what the setting would refuse
    return values


def _loaded(folder: Path, max_queries: int | None = None) -> Dataset:
    dataset = load_dataset(folder)
    if max_queries is not None:
        dataset = dataset.with_queries(max_queries)
    if unknown := dataset.unknown_relevant:
        say(f"{dataset.name}: {unknown} relevant documents are not in the corpus: not found.", err=True)
    return dataset


def _require_writable(folder: Path) -> None:
    """Before the work: a result that cannot be written would be lost."""
    require_plotting()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigurationError(f"--out {folder} cannot be written: {error.strerror}.") from None


def _cache_file(folder: Path | None) -> Path:
    base = folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcp-memory-service"
    return base.expanduser() / "evaluation-vectors.db"


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _outcome(tuned: StoreTuning, *, dry_run: bool) -> str:
    if tuned.saved:
        return (
            f"Version {tuned.saved.version} is in force; mcp-memory eval rollback undoes it."
            " A running server takes it at its next start."
        )
    return "Nothing was changed (--dry-run)." if tuned.report.accepted and dry_run else "Nothing was changed."
