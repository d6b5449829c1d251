"""A short form of `python -m tests.reliability.io_faults`."""

from tests.reliability.io_faults import run


def test_a_failed_call_to_the_disk_is_told_and_costs_one_operation_at_most():
    figures = run(every=37)
    assert figures.clean, figures
    assert figures.calls > 500
    assert figures.refused > 10
    assert figures.faults["EIO never came"] == 0
