"""Mean reciprocal rank at production defaults: how far up is the first answer?"""

import pytest

from .conftest import Evaluated


def test_mrr(evaluated: Evaluated):
    assert evaluated.mean("mrr@10") >= 0.75  # measured: .7771


@pytest.mark.parametrize(
    ("category", "floor"),
    [("tag_sensitive", 0.89), ("exact_term", 0.92), ("paraphrase", 0.40), ("temporal", 0.70), ("cross_project", 0.72)],
)
def test_mrr_of_each_category(evaluated: Evaluated, category: str, floor: float):
    assert evaluated.mean("mrr@10", category) >= floor
