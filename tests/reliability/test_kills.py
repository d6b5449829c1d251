"""Short forms of the runs with killed processes."""

from pathlib import Path

from tests.reliability import kills
from tests.reliability.migration_kills import run_migration_kills


def test_killed_writers_lose_nothing_that_was_acknowledged_and_block_nobody(tmp_path: Path):
    figures = kills.run(tmp_path, kills=6, migration_kills=0, seed=1)
    assert figures.clean, figures
    assert figures.kills == 6
    assert figures.verdict.acknowledged_writes > 6


def test_a_killed_migration_leaves_a_file_that_opens_whole(tmp_path: Path):
    figures = run_migration_kills(tmp_path, kills=1, seed=1, memories=1_000)
    assert figures.clean, figures
    assert figures.kills == 1
