"""What is kept beside a namespace, and whose it is."""

from collections.abc import Callable

import pytest

from mcp_memory_service.models import code_of, history_of, is_main, main_namespace, trash_of


@pytest.mark.parametrize("beside", [history_of, trash_of, code_of])
def test_what_is_beside_a_namespace_is_told_from_it_and_leads_back_to_it(beside: Callable[[str], str]):
    assert beside("team") != "team"
    assert not is_main(beside("team"))
    assert main_namespace(beside("team")) == main_namespace(beside(beside("team"))) == "team"
    assert is_main("team")


def test_history_trash_and_code_are_three_places():
    assert len({beside("team") for beside in (history_of, trash_of, code_of)}) == 3
