"""What is resolved in the cases of JavaScript and TypeScript, against the goals that they are for."""

import pytest
from tests.eval.code.cases import cases
from tests.eval.code.scoring import Score, found_calls, scores

# Least F1 of a language: what the calls of such cases were to be found with at all.
GOALS = {"javascript": 0.80, "typescript": 0.90}
# Least share of right ones among the calls of a class.
CERTAIN, LIKELY = 0.97, 0.85


@pytest.fixture(scope="module", params=sorted(GOALS))
def language(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def score(language: str) -> Score:
    return scores(cases(language))["all"]


def test_there_are_at_least_150_cases_of_each_language(language: str):
    assert len({(case.category, case.title) for case in cases(language)}) >= 150


def test_most_calls_are_resolved_and_right(language: str, score: Score):
    assert score.f1 >= GOALS[language]


@pytest.mark.parametrize(("certainty", "least"), [("certain", CERTAIN), ("likely", LIKELY)])
def test_a_class_of_certainty_is_as_right_as_it_says(score: Score, certainty: str, least: float):
    right, wrong = score.by_class[certainty]

    assert right / (right + wrong) >= least


def test_what_the_cases_warn_of_is_not_resolved(language: str):
    wrong = {
        f"{case.category}: {case.title}": sorted(found_calls(case).keys() & case.never) for case in cases(language)
    }

    assert {title: calls for title, calls in wrong.items() if calls} == {}
