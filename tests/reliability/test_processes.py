"""Short forms of the runs with many processes on one file."""

from pathlib import Path

from tests.reliability import first_opens, processes


def test_processes_that_write_and_read_one_file_at_once_lose_nothing_and_never_fail(tmp_path: Path):
    figures = processes.run(tmp_path, writers=4, operations=60, readers=2, seed=1)
    assert figures.clean, figures
    assert figures.verdict.acknowledged_writes == 4 * 60
    assert figures.seen_at_once > 0
    assert figures.reads.calls > 0


def test_processes_that_open_a_new_file_at_once_all_get_it(tmp_path: Path):
    figures = first_opens.run(tmp_path, rounds=2, processes=8)
    assert figures.clean, figures
    assert figures.memories_found == 16
