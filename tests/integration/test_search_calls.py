"""A search is made of few calls, however many memories there are: what it costs where no clock can be trusted."""

from pathlib import Path

import pytest
from tests.support.call_counts import SEARCHES, calls_of_searches

# Before, at 100,000 memories: 2,117 and 2,120 (docs/benchmarks.md).
MAX_PYTHON_CALLS = 900
MAX_C_CALLS = 1_700


@pytest.mark.parametrize("memories", [1_000, 10_000])
async def test_a_hybrid_search_makes_few_calls(memories: int, tmp_path: Path):
    calls = await calls_of_searches(memories, tmp_path)
    assert calls.python.total() / SEARCHES <= MAX_PYTHON_CALLS, calls.python.most_common(20)
    assert calls.c.total() / SEARCHES <= MAX_C_CALLS, calls.c.most_common(20)
