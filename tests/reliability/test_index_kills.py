"""A short form of the runs with killed indexers."""

from pathlib import Path

from tests.reliability import index_kills


def test_a_killed_index_run_leaves_each_file_old_or_new(tmp_path: Path):
    figures = index_kills.run(tmp_path, kills=4, seed=1)
    assert figures.clean, figures
    assert figures.killed_before_the_end > 0
