"""Hit@10 at production defaults: is an answer on the first page? Floors are what was measured, less a few queries."""

import pytest

from mcp_memory_service.evaluation.metrics import separation

from .conftest import Evaluated


def test_hit_rate(evaluated: Evaluated):
    assert evaluated.mean("hit_rate@10") >= 0.90  # measured: .9235


@pytest.mark.parametrize(
    ("category", "floor"),
    [("tag_sensitive", 0.97), ("exact_term", 0.97), ("paraphrase", 0.60), ("temporal", 0.91), ("cross_project", 0.95)],
)
def test_hit_rate_of_each_category(evaluated: Evaluated, category: str, floor: float):
    assert evaluated.mean("hit_rate@10", category) >= floor


def test_the_evidence_tells_queries_without_an_answer_from_the_others(evaluated: Evaluated):
    """The probability that a query with an answer shows more of its words than one without; .5 would be chance."""
    covered = {
        name: found.evidence.keyword_coverage for name, found in evaluated.results["hybrid"].items() if found.evidence
    }
    assert covered.keys() == evaluated.cases.keys()
    with_answer = [covered[name] for name, case in evaluated.cases.items() if case.expected_hashes]
    without = [covered[name] for name, case in evaluated.cases.items() if not case.expected_hashes]
    assert separation(with_answer, without) >= 0.75  # measured: .81; the similarity of the first vector hit gives .62
