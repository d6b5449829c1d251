"""Short forms of the fuzzing."""

from pathlib import Path

from tests.fuzz import mcp_over_http, mcp_over_stdio, raw_http, rest


def test_no_request_made_from_our_openapi_gets_an_undeclared_answer_or_a_5xx(tmp_path: Path):
    figures = rest.run(tmp_path, cases=100, seed=1)
    assert figures.clean, "\n".join(figures.failures)
    assert figures.sent >= 100


def test_fuzzed_mcp_messages_over_http_are_answered_and_the_next_call_works(tmp_path: Path):
    figures = mcp_over_http.run(tmp_path, messages=400, seed=1)
    assert figures.clean, "\n".join(figures.failures)
    assert {"200", "202", "400"} <= figures.statuses.keys()


def test_fuzzed_mcp_messages_over_stdio_are_answered_and_the_next_call_works(tmp_path: Path):
    figures = mcp_over_stdio.run(tmp_path, messages=400, seed=1)
    assert figures.clean, "\n".join(figures.failures)
    assert {"result", "error"} <= figures.statuses.keys()


def test_mutated_http_is_refused_or_closed_and_others_are_served(tmp_path: Path):
    figures = raw_http.run(tmp_path, connections=300, seed=1)
    assert figures.clean, "\n".join(figures.failures)
    assert {"400", "413", "421", "closed"} <= figures.statuses.keys()
