"""The risk of a change: what it is a sum of, and that it never falls when more is found."""

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.services.code.risk import Findings, risk_of, weighted_callers

COUNTS = st.integers(0, 10_000)
FINDINGS = st.builds(
    Findings, st.lists(COUNTS, max_size=6).map(tuple), COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS
)
GROWING = [each.name for each in fields(Findings) if each.name not in {"callers_by_depth", "tests"}]


@given(FINDINGS)
def test_a_risk_is_the_sum_of_its_parts_and_within_its_bounds(findings: Findings):
    risk = risk_of(findings)
    assert 0 <= risk.score <= 100
    assert risk.score == round(sum(part.points for part in risk.parts))
    assert all(0 < part.points <= part.at_most and part.why for part in risk.parts)


@given(FINDINGS, st.sampled_from(GROWING), st.integers(1, 50))
def test_more_of_anything_but_tests_is_no_smaller_risk(findings: Findings, what: str, more: int):
    grown = replace(findings, **{what: getattr(findings, what) + more})
    assert risk_of(grown).score >= risk_of(findings).score


@given(FINDINGS, st.integers(0, 8), st.integers(1, 50))
def test_more_callers_are_no_smaller_risk(findings: Findings, depth: int, more: int):
    by_depth = [*findings.callers_by_depth, *[0] * 9]
    by_depth[depth] += more
    assert risk_of(replace(findings, callers_by_depth=tuple(by_depth))).score >= risk_of(findings).score


@given(FINDINGS, st.integers(1, 50))
def test_more_tests_are_no_greater_risk(findings: Findings, more: int):
    assert risk_of(replace(findings, tests=findings.tests + more)).score <= risk_of(findings).score


def test_what_nobody_uses_is_no_risk():
    assert risk_of(Findings()).score == 0
    assert risk_of(Findings()).parts == ()


def test_the_farther_a_caller_is_the_less_it_counts():
    assert [weighted_callers(each) for each in ((1,), (0, 1), (0, 0, 1), (0, 0, 0, 1))] == [1.0, 0.6, 0.3, 0.3]


def test_a_risk_says_why():
    risk = risk_of(Findings((3, 2), files=2, errors=1, tests=1))
    assert [part.name for part in risk.parts] == ["callers", "untested", "errors", "files"]
    assert risk.parts[0].why == "5 callers within 2 steps"
