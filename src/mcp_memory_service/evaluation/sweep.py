"""One weight over a range of values, everything else as it is: which value serves the queries best?

The signals are asked once for each query; every value then ranks the same answers with the code of production.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..hybrid_search import RankingPolicy
from ..models import Progress
from ..services import AskedSignals, MemoryService
from .confidence import PairedDifference, paired_difference
from .dataset import Dataset
from .metrics import DEPTH, Grades, Measures, mean_measures, measure
from .runner import Collections
from .tables import difference_table

# By the name that a user gives: the field of the policy.
SWEPT_WEIGHTS: Mapping[str, str] = {
    "alpha": "hybrid_alpha",
    "vector_trust": "vector_trust",
    "keyword_weight": "keyword_weight",
    "tag_weight": "tag_weight",
    "neighbour_weight": "neighbour_weight",
    "graph_weight": "graph_weight",
    "recency_floor": "recency_floor",
    "rrf_k": "rrf_k",
}
ALPHAS: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Judged:
    """A query with its answers and what is relevant to it (content hashes with grades)."""

    service: MemoryService
    asked: AskedSignals
    relevant: Grades


@dataclass(frozen=True, slots=True)
class SweepRow:
    value: float | None
    """None is the default, adaptive for alpha."""
    measures: Measures
    ndcg_at_10_difference: PairedDifference | None = None
    """To the default, which has none."""


async def judge(
    queries: Sequence[tuple[MemoryService, str, Grades]], progress: Progress, doing: str = "ask"
) -> list[Judged]:
    judged: list[Judged] = []
    for number, (service, text, relevant) in enumerate(queries, start=1):
        judged.append(Judged(service, await service.ask_signals(text), relevant))
        progress(doing, number, len(queries))
    return judged


async def judge_dataset(dataset: Dataset, collections: Collections, progress: Progress) -> list[Judged]:
    """The queries of a loaded dataset of which a relevant document is there."""
    judged: list[Judged] = []
    for number, query in enumerate(dataset.queries, start=1):
        if relevant := collections.hashes(query):
            asked = await collections.ask_signals(query)
            judged.append(Judged(collections.service(query.collection), asked, relevant))
        progress("ask", number, len(dataset.queries))
    return judged


async def measure_policy(judged: Sequence[Judged], policy: RankingPolicy) -> list[Measures]:
    """The measures of each query, ranked by this policy."""
    return [measure((await query.service.rank_asked(query.asked, policy))[:DEPTH], query.relevant) for query in judged]


async def sweep(
    judged: Sequence[Judged], policy: RankingPolicy, weight: str, values: Sequence[float], progress: Progress
) -> list[SweepRow]:
    """A row for the policy as it is, and one for each value."""
    default = await measure_policy(judged, policy)
    rows = [SweepRow(None, mean_measures(default))]
    for number, value in enumerate(values, start=1):
        field = SWEPT_WEIGHTS[weight]
        tried = replace(policy, **{field: int(value) if field == "rrf_k" else value})
        measures = await measure_policy(judged, tried)
        difference = paired_difference([each.ndcg_at_10 for each in measures], [each.ndcg_at_10 for each in default])
        rows.append(SweepRow(value, mean_measures(measures), difference))
        progress(f"sweep {weight}", number, len(values))
    return rows


def best_row(rows: Sequence[SweepRow]) -> SweepRow:
    """By NDCG@10, then MRR; of equals the first."""
    return max(rows, key=lambda row: (row.measures.ndcg_at_10, row.measures.mrr_at_10))


def render_sweep(rows: Sequence[SweepRow], weight: str) -> str:
    best = best_row(rows)
    name = weight.capitalize()
    width = max(len(name), 8)
    lines = [f"{name:<{width}} | Hit@10 | MRR    | NDCG@10"]
    for row in rows:
        value = "default" if row.value is None else f"{row.value:g}"
        shown = (row.measures.recall_any_at_10, row.measures.mrr_at_10, row.measures.ndcg_at_10)
        mark = "  ← Optimal" if row is best else ""
        lines.append(f"{value:<{width}} | " + " | ".join(f"{measure:.4f}" for measure in shown) + mark)
    differences = {
        (f"{weight} {row.value:g}", "default"): row.ndcg_at_10_difference for row in rows if row.ndcg_at_10_difference
    }
    return "\n".join(lines) + (f"\n\n{difference_table(differences)}" if differences else "")


def sweep_json(rows: Sequence[SweepRow], weight: str) -> dict[str, Any]:
    shown = [
        {
            "value": row.value,
            **row.measures._asdict(),
            "ndcg_at_10_paired_difference_to_default": row.ndcg_at_10_difference.as_json()
            if row.ndcg_at_10_difference
            else None,
        }
        for row in rows
    ]
    best = best_row(rows).value
    return {"weight": weight, "best": "default" if best is None else best, "rows": shown}
