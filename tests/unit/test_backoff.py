"""The pauses between attempts."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.backoff import backoff


@given(st.floats(1e-3, 10), st.floats(1, 1e3), st.integers(1, 2_000))
def test_pauses_double_up_to_the_longest_with_half_of_it_as_jitter(first: float, factor: float, count: int):
    longest = first * factor
    pauses = list(islice(backoff(first, longest), count))
    for number, pause in enumerate(pauses):
        without_jitter = min(first * 2.0 ** min(number, 1_000), longest)
        assert 0.5 * without_jitter <= pause <= 1.5 * without_jitter


def test_clients_that_fail_together_do_not_come_back_together():
    assert len({next(backoff(1.0, 60.0)) for _ in range(100)}) > 1
