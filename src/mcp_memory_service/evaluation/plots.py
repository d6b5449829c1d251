"""Pictures of results; matplotlib is asked for by name and only here, because it is heavy and rarely wanted."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from .report import DatasetReport
from .sweep import SweepRow

COLOURS = {"vector": "#4878a8", "keyword": "#e0a030", "hybrid": "#3a8a4f", "tuned": "#8a4f8a"} | {
    "keyword, filtered": "#f0d090",
    "hybrid, filtered": "#90c8a0",
}


def require_plotting() -> None:
    """To be called before the work: a picture that cannot be drawn is said at once."""
    if find_spec("matplotlib") is None:
        raise ConfigurationError("A plot needs matplotlib: install it with pip install 'matplotlib>=3.9'.")


def plot_reports(reports: Sequence[DatasetReport], path: Path) -> None:
    """NDCG@10 of each row by dataset, with the 95 % interval."""
    figure, axes = _figure(2.2 + 1.5 * len(reports))
    rows = list(dict.fromkeys(row for report in reports for row in report.rows))
    for place, row in enumerate(rows):
        having = [number for number, report in enumerate(reports) if row in report.rows]
        shown = [reports[number].rows[row] for number in having]
        heights = [each.means.ndcg_at_10 for each in shown]
        spans = [each.intervals["ndcg_at_10"] for each in shown]
        errors = [
            [max(0.0, height - span.low) for height, span in zip(heights, spans, strict=True)],
            [max(0.0, span.high - height) for height, span in zip(heights, spans, strict=True)],
        ]
        width = 0.8 / len(rows)
        positions = [number + (place - (len(rows) - 1) / 2) * width for number in having]
        axes.bar(positions, heights, width, yerr=errors, label=row, color=COLOURS.get(row), capsize=2)
    axes.set_xticks(range(len(reports)), [report.dataset.replace("_", "\n") for report in reports])
    axes.set_ylabel("NDCG@10")
    axes.set_ylim(0, 1)
    _save(figure, axes, path)


def plot_sweep(rows: Sequence[SweepRow], weight: str, path: Path) -> None:
    """Hit@10, MRR and NDCG@10 against the swept weight; dashed lines are the default."""
    figure, axes = _figure(6.0)
    swept = [row for row in rows if row.value is not None]
    default = next((row for row in rows if row.value is None), None)
    for name, label in (("recall_any_at_10", "Hit@10"), ("mrr_at_10", "MRR@10"), ("ndcg_at_10", "NDCG@10")):
        (line,) = axes.plot(
            [row.value for row in swept], [getattr(row.measures, name) for row in swept], marker="o", label=label
        )
        if default:
            axes.axhline(getattr(default.measures, name), color=line.get_color(), linestyle="--", linewidth=0.8)
    axes.set_xlabel(weight)
    _save(figure, axes, path)


def _figure(width: float) -> tuple[Any, Any]:
    require_plotting()
    import_module("matplotlib").use("Agg")
    return import_module("matplotlib.pyplot").subplots(figsize=(width, 4.0), layout="constrained")


def _save(figure: Any, axes: Any, path: Path) -> None:
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    import_module("matplotlib.pyplot").close(figure)
