"""What was measured, as values that go to JSON, and as tables for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..hybrid_search import RankingPolicy
from .confidence import Interval, PairedDifference, bootstrap_interval, paired_difference
from .dataset import Dataset
from .metrics import Measures, mean_measures
from .runner import Answer, Row
from .tables import difference_table, markdown_table
from .tuning import TuningReport, tuning_json


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row against another one, over the same queries."""

    reference: str
    by_measure: Mapping[str, PairedDifference]
    ndcg_at_10_by_category: Mapping[str, PairedDifference]


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
    difference: RowDifference | None
    """None if the row is compared with no other."""
    degraded: Mapping[str, int]
    """How many queries were answered without a part, by what was missing."""


@dataclass(frozen=True, slots=True)
class DatasetReport:
    dataset: str
    documents: int
    queries: int
    rows: Mapping[str, RowReport]


def report_of(dataset: Dataset, rows: Mapping[str, Row], answers: Mapping[str, Sequence[Answer]]) -> DatasetReport:
    def difference(name: str) -> RowDifference | None:
        if not rows[name].compared_with:
            return None
        reference = max(rows[name].compared_with, key=lambda other: sum(_ndcg(answers[other])))
        return _difference(answers[name], answers[reference], reference)

    return DatasetReport(
        dataset=dataset.name,
        documents=dataset.documents,
        queries=len(dataset.queries),
        rows={name: _row(given, difference(name)) for name, given in answers.items()},
    )


def _difference(answers: Sequence[Answer], others: Sequence[Answer], reference: str) -> RowDifference:
    differences = map(paired_difference, _columns(answers), _columns(others))
    return RowDifference(
        reference=reference,
        by_measure=dict(zip(Measures._fields, differences, strict=True)),
        ndcg_at_10_by_category={
            category: paired_difference(_ndcg(answers, category), _ndcg(others, category))
            for category in _categories(answers)
        },
    )


def _columns(answers: Sequence[Answer]) -> list[tuple[float, ...]]:
    """Each measure over all queries."""
    return list(zip(*(answer.measures for answer in answers), strict=True))


def _ndcg(answers: Sequence[Answer], category: str | None = None) -> list[float]:
    return [answer.measures.ndcg_at_10 for answer in answers if category in {None, answer.query.category}]


def _categories(answers: Sequence[Answer]) -> list[str]:
    return sorted({answer.query.category for answer in answers if answer.query.category})


def _row(answers: Sequence[Answer], difference: RowDifference | None) -> RowReport:
    grouped = {
        name: [answer.measures for answer in answers if answer.query.category == name] for name in _categories(answers)
    }
    took = np.array([answer.took_ms for answer in answers])
    return RowReport(
        means=mean_measures([answer.measures for answer in answers]),
        intervals=dict(zip(Measures._fields, map(bootstrap_interval, _columns(answers)), strict=True)),
        by_category={name: mean_measures(measures) for name, measures in grouped.items()},
        queries_by_category={name: len(measures) for name, measures in grouped.items()},
        latency_ms={f"p{share}": round(float(np.percentile(took, share)), 2) for share in (50, 95, 99)},
        mean_alpha=float(np.mean([answer.alpha for answer in answers])),
        difference=difference,
        degraded=Counter(reason for answer in answers for reason in answer.degraded),
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
            "degraded": dict(row.degraded),
            "paired_difference": _difference_json(row.difference) if row.difference else None,
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
    return result | ({"tuning": tuning_json(tuning)} if tuning else {})


def _difference_json(difference: RowDifference) -> dict[str, Any]:
    return {
        "reference": difference.reference,
        "by_measure": {name: each.as_json() for name, each in difference.by_measure.items()},
        "ndcg_at_10_by_category": {name: each.as_json() for name, each in difference.ndcg_at_10_by_category.items()},
    }


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


def render_report(report: DatasetReport) -> str:
    title = f"## {report.dataset}: {report.documents:,} documents, {report.queries:,} queries"
    parts = [
        title,
        markdown_table(["search", *SHOWN.values(), "95 % NDCG@10", "p50 ms", "p95 ms"], _rows(report)),
        difference_table(
            {
                (name, row.difference.reference): row.difference.by_measure["ndcg_at_10"]
                for name, row in report.rows.items()
                if row.difference
            }
        ),
    ]
    missing = [
        f"{name}: {reason} in {count} of {report.queries} queries."
        for name, row in report.rows.items()
        for reason, count in row.degraded.items()
    ]
    parts += ["\n".join(missing)] if missing else []
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
