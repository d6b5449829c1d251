"""What was measured, as values that go to JSON, and as tables for people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..hybrid_search import RankingPolicy
from .confidence import Interval, bootstrap_interval
from .metrics import Measures, mean_measures
from .runner import Answer
from .tuning import TuningReport


@dataclass(frozen=True, slots=True)
class RowReport:
    """One way of asking, over all queries."""

    means: Measures
    intervals: Mapping[str, Interval]
    """95 % bootstrap intervals of the means, by name of the measure."""
    by_category: Mapping[str, Measures]
    queries_by_category: Mapping[str, int]
    latency_ms: Mapping[str, float]
    """p50, p95 and p99 of one search from call to answer, with the query embedded anew unless it was cached."""
    mean_alpha: float


@dataclass(frozen=True, slots=True)
class DatasetReport:
    dataset: str
    documents: int
    queries: int
    rows: Mapping[str, RowReport]


def report_of(dataset: str, documents: int, answers: Mapping[str, Sequence[Answer]]) -> DatasetReport:
    return DatasetReport(
        dataset=dataset,
        documents=documents,
        queries=len(next(iter(answers.values()))),
        rows={row: _row(given) for row, given in answers.items()},
    )


def _row(answers: Sequence[Answer]) -> RowReport:
    columns = list(zip(*(answer.measures for answer in answers), strict=True))
    categories = sorted({answer.query.category for answer in answers if answer.query.category})
    grouped = {name: [answer.measures for answer in answers if answer.query.category == name] for name in categories}
    took = np.array([answer.took_ms for answer in answers])
    return RowReport(
        means=mean_measures([answer.measures for answer in answers]),
        intervals=dict(zip(Measures._fields, map(bootstrap_interval, columns), strict=True)),
        by_category={name: mean_measures(measures) for name, measures in grouped.items()},
        queries_by_category={name: len(measures) for name, measures in grouped.items()},
        latency_ms={f"p{share}": round(float(np.percentile(took, share)), 2) for share in (50, 95, 99)},
        mean_alpha=float(np.mean([answer.alpha for answer in answers])),
    )


def report_json(report: DatasetReport, policy: RankingPolicy, tuning: TuningReport | None) -> dict[str, Any]:
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
        "policy": asdict(policy),
        "rows": rows,
    }
    return result | ({"tuning": asdict(tuning) | {"reason": tuning.reason}} if tuning else {})


SHOWN: Mapping[str, str] = {
    "ndcg_at_10": "NDCG@10",
    "hit_at_1": "Hit@1",
    "mrr_at_10": "MRR@10",
    "recall_any_at_5": "any@5",
    "recall_any_at_10": "any@10",
    "recall_fraction_at_5": "frac@5",
    "recall_fraction_at_10": "frac@10",
    "recall_all_at_5": "all@5",
    "recall_all_at_10": "all@10",
}


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with columns of even width, readable as it is."""
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def render_report(report: DatasetReport) -> str:
    title = f"## {report.dataset}: {report.documents:,} documents, {report.queries:,} queries"
    parts = [title, markdown_table(["search", *SHOWN.values(), "95 % NDCG@10", "p50 ms", "p95 ms"], _rows(report))]
    if any(row.by_category for row in report.rows.values()):
        parts.append(markdown_table(["NDCG@10 by category", "queries", *report.rows], _category_rows(report)))
    return "\n\n".join(parts)


def _rows(report: DatasetReport) -> list[list[str]]:
    return [
        [
            name,
            *(f"{getattr(row.means, measure):.4f}" for measure in SHOWN),
            "{:.3f}–{:.3f}".format(*row.intervals["ndcg_at_10"]),
            f"{row.latency_ms['p50']:.1f}",
            f"{row.latency_ms['p95']:.1f}",
        ]
        for name, row in report.rows.items()
    ]


def _category_rows(report: DatasetReport) -> list[list[str]]:
    first = next(iter(report.rows.values()))
    return [
        [category, str(queries), *(f"{row.by_category[category].ndcg_at_10:.4f}" for row in report.rows.values())]
        for category, queries in first.queries_by_category.items()
    ]
