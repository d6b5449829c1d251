"""What is resolved in the cases of Python: the gates are what is reached."""

import json

import pytest
from tests.eval.code.cases import cases
from tests.eval.code.scoring import Score, found_calls, scores

from mcp_memory_service.indexing.code import CodeFile, Project, ProjectConfig, read_code


@pytest.fixture(scope="module")
def score() -> Score:
    return scores(cases("python"))["all"]


def test_there_are_at_least_150_cases():
    assert len({(case.category, case.title) for case in cases("python")}) >= 150


def test_nearly_all_calls_are_resolved_and_right(score: Score):
    assert score.f1 >= 0.99
    assert score.precision >= 0.99


@pytest.mark.parametrize(("certainty", "least"), [("certain", 0.99), ("likely", 0.95)])
def test_a_class_of_certainty_is_as_right_as_it_says(score: Score, certainty: str, least: float):
    right, wrong = score.by_class[certainty]

    assert right / (right + wrong) >= least


def test_what_the_cases_warn_of_is_not_resolved():
    wrong = {f"{case.category}: {case.title}": found_calls(case).keys() & case.never for case in cases("python")}

    assert not any(wrong.values())


def test_what_a_record_keeps_of_a_file_is_resolved_as_the_file():
    for case in cases("python"):
        config = ProjectConfig.of(case.files)
        fresh, recorded = Project(config), Project(config)
        for path, text in case.files.items():
            file = read_code(path, text, config)
            fresh.put(file)
            recorded.put(CodeFile.from_json(json.loads(json.dumps(file.to_json()))))

        assert fresh.resolve().files == recorded.resolve().files, case.title
