"""How sure the answers are, at production defaults."""

from collections import Counter

from mcp_memory_service.models import Confidence

from .conftest import Evaluated


def confidences(evaluated: Evaluated, *, answerable: bool) -> Counter[Confidence]:
    asked = [name for name, case in evaluated.cases.items() if bool(case.expected_hashes) == answerable]
    return Counter(evaluated.results["hybrid"][name].confidence for name in asked)


def test_high_is_precise(evaluated: Evaluated):
    """Measured: 76 of 183 with an answer, 0 of 18 without."""
    assert confidences(evaluated, answerable=True)["high"] >= 0.36 * 183
    assert confidences(evaluated, answerable=False)["high"] <= 1


def test_none_is_rare_for_what_has_an_answer(evaluated: Evaluated):
    assert confidences(evaluated, answerable=True)["none"] <= 0.08 * 183  # measured: 10
