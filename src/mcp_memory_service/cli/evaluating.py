"""What `mcp-memory eval` does: read the options, run one evaluation, show and write its results."""

import asyncio
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..config import Settings, load_settings
from ..errors import ConfigurationError
from ..evaluation.dataset import Dataset, load_dataset
from ..evaluation.ground_truth import load_ground_truth
from ..evaluation.plots import plot_reports, plot_sweep, require_plotting
from ..evaluation.report import DatasetReport, render_report
from ..evaluation.sweep import ALPHAS, SWEPT_WEIGHTS, SweepRow, best_row, render_sweep
from ..evaluation.tuning import TuningReport
from ..evaluation.use_cases import StoreTuning, roll_back_tuning, run_dataset, sweep_dataset, sweep_store, tune_store
from ..models import TunedWeights
from .commands import settings_from
from .progress import ProgressLine


def run_datasets(folders: tuple[Path, ...], options: dict[str, Any], *, as_json: bool) -> None:
    settings = settings_from(options)
    out: Path | None = options["out"]
    if out:
        _require_writable(out)
    datasets = [_loaded(folder, options["queries"]) for folder in folders]
    reports: list[DatasetReport] = []
    results: list[dict[str, Any]] = []
    for dataset in datasets:
        report, tuning = asyncio.run(
            run_dataset(dataset, settings, _cache_file(options["cache"]), ProgressLine(), tuned=options["tuned"])
        )
        reports.append(report)
        results.append(_report_json(report, tuning, settings))
        if not as_json:
            click.echo(render_report(report) + "\n" + (f"\n{_tuning_text(tuning)}\n" if tuning else ""))
        if out:  # after each set: what was measured is kept if a later one fails
            _write_json(out / "results.json", results)
            plot_reports(reports, out / "results.svg")
    if as_json:
        click.echo(json.dumps(results, indent=2))


def sweep_weight(options: dict[str, Any], *, as_json: bool) -> None:
    settings = settings_from(options)
    weight, values = _swept(options, settings)
    out: Path | None = options["out"]
    if out:
        _require_writable(out)
    folder, ground_truth = options["folder"], options["ground_truth"]
    if (folder is None) == (ground_truth is None):
        raise click.UsageError("Give either --data or --ground-truth.")
    if folder:
        work = sweep_dataset(_loaded(folder), settings, _cache_file(options["cache"]), weight, values, ProgressLine())
    else:
        work = sweep_store(load_ground_truth(ground_truth), settings, weight, values, ProgressLine())
    rows = asyncio.run(work)
    result = sweep_json(rows, weight)
    if out:
        _write_json(out / "sweep.json", result)
        plot_sweep(rows, weight, out / "sweep.svg")
    click.echo(json.dumps(result, indent=2) if as_json else render_sweep(rows, weight))


def tune_weights(options: dict[str, Any], *, as_json: bool) -> None:
    settings = settings_from(options)
    tuned = asyncio.run(tune_store(settings, ProgressLine(), save=not options["dry_run"]))
    if as_json:
        click.echo(json.dumps(asdict(tuned) | {"reason": tuned.report.reason}, indent=2))
        return
    made, said = tuned.known_items, tuned.feedback_queries
    click.echo(f"{tuned.memories} memories, {made} queries made from them, {said} from feedback.")
    click.echo(_tuning_text(tuned.report))
    click.echo(_outcome(tuned, dry_run=options["dry_run"]))


def roll_back(options: dict[str, Any], *, as_json: bool) -> None:
    undone, current = asyncio.run(roll_back_tuning(settings_from(options)))
    if as_json:
        result = {"rolled_back": asdict(undone) if undone else None, "current": asdict(current) if current else None}
        click.echo(json.dumps(result, indent=2))
        return
    if undone is None:
        click.echo("No tuned weights are in force.")
        return
    now = f"version {current.version} counts again" if current else "the defaults count again"
    click.echo(f"Version {undone.version} is out of force; {now}. A running server takes this at its next start.")


def sweep_json(rows: list[SweepRow], weight: str) -> dict[str, Any]:
    shown = [{"value": row.value, **row.measures._asdict()} for row in rows]
    best = best_row(rows).value
    return {"weight": weight, "best": "default" if best is None else best, "rows": shown}


def _swept(options: dict[str, Any], settings: Settings) -> tuple[str, list[float]]:
    weight = options["weight"]
    if weight not in SWEPT_WEIGHTS:
        raise click.UsageError(f"--weight must be one of {', '.join(SWEPT_WEIGHTS)}.")
    unused = {"rrf_k"} if settings.hybrid.fusion == "score" else {"vector_trust", "neighbour_weight"}
    if weight in unused:
        raise click.UsageError(f"{weight} has no effect with MCP_MEMORY_FUSION={settings.hybrid.fusion}.")
    if options["values"] is None:
        if weight != "alpha":
            raise click.UsageError(f"--values is needed for {weight}, such as --values 0,0.5,1.")
        return weight, list(ALPHAS)
    try:
        values = [float(part) for part in options["values"].split(",")]
    except ValueError:
        raise click.UsageError("--values must be numbers, divided by commas.") from None
    for value in values:
        load_settings({SWEPT_WEIGHTS[weight]: value})  # refuses what the setting would refuse
    return weight, values


def _loaded(folder: Path, most_queries: int | None = None) -> Dataset:
    dataset = load_dataset(folder)
    if most_queries is not None:
        dataset = dataset.with_queries(most_queries)
    if unknown := dataset.unknown_relevant:
        click.echo(f"{dataset.name}: {unknown} relevant documents are not in the corpus: not found.", err=True)
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


def _report_json(report: DatasetReport, tuning: TuningReport | None, settings: Settings) -> dict[str, Any]:
    rows = {
        name: {
            "means": row.means._asdict(),
            "intervals_95": {measure: list(interval) for measure, interval in row.intervals.items()},
            "by_category": {category: measures._asdict() for category, measures in row.by_category.items()},
            "queries_by_category": dict(row.queries_by_category),
            "latency_ms": dict(row.latency_ms),
            "mean_alpha": row.mean_alpha,
        }
        for name, row in report.rows.items()
    }
    result: dict[str, Any] = {
        "dataset": report.dataset,
        "documents": report.documents,
        "queries": report.queries,
        "policy": asdict(settings.hybrid.policy()),
        "rows": rows,
    }
    return result | ({"tuning": asdict(tuning) | {"reason": tuning.reason}} if tuning else {})


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _tuning_text(report: TuningReport) -> str:
    return "\n".join(
        [
            f"  now       {_weights(report.current)}: NDCG@10 {report.held_out[0]:.4f} on held-out queries",
            f"  proposed  {_weights(report.proposed)}: NDCG@10 {report.held_out[1]:.4f}",
            f"  gain      {report.held_out[1] - report.held_out[0]:+.4f} (95 % {report.gain_interval_95.low:+.4f} to"
            f" {report.gain_interval_95.high:+.4f}, {report.held_out_queries} queries). {report.reason}",
        ]
    )


def _weights(weights: TunedWeights) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in asdict(weights).items())


def _outcome(tuned: StoreTuning, *, dry_run: bool) -> str:
    if tuned.saved:
        return (
            f"Version {tuned.saved.version} is in force; mcp-memory eval rollback undoes it."
            " A running server takes it at its next start."
        )
    if tuned.report.accepted and dry_run:
        return "Nothing was changed (--dry-run)."
    return "Nothing was changed."
