"""A short form of `python -m tests.reliability.backups_under_load`."""

from pathlib import Path

from tests.reliability.backups_under_load import run


def test_backups_under_load_are_moments_of_the_store_and_no_flipped_bit_is_restored(tmp_path: Path):
    figures = run(tmp_path, backups=3, head_start=40, flips=50, first=50, last=60, seed=1)
    assert figures.clean, figures
    assert figures.backups == 3 + 1
    assert figures.handles_used == 1
    assert figures.memories > 40
    assert figures.flips.flips == 160
