"""Short forms of the parts of `python -m tests.reliability.full_disk`."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.reliability.full_disk import MEGABYTES, play_rounds
from tests.reliability.full_disk_copies import copy_onto_full_disk
from tests.reliability.full_disk_erasure import STEPS, erase_on_full_disk
from tests.reliability.full_disk_server import serve_on_full_disk
from tests.reliability.small_disk import NoSmallDisk, SmallDisk, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Generator[SmallDisk, None, None]:
    try:
        with small_disk(tmp_path / "disk", MEGABYTES) as disk:
            yield disk
    except NoSmallDisk as reason:
        pytest.skip(str(reason))


async def test_a_full_disk_refuses_writes_and_costs_nothing_else(disk: SmallDisk):
    figures = await play_rounds(disk, rounds=2, seed=1)
    assert figures.clean, figures
    assert figures.acknowledged > 40
    assert figures.refused > 20


def test_a_server_with_a_full_disk_says_so_and_searches_on(disk: SmallDisk, tmp_path: Path):
    assert serve_on_full_disk(disk, tmp_path) == []


async def test_a_copy_that_does_not_fit_on_the_disk_changes_nothing(disk: SmallDisk, tmp_path: Path):
    figures = await copy_onto_full_disk(disk, tmp_path)
    assert figures.clean, figures
    assert min(figures.backups_refused, figures.restores_refused, figures.openings_refused) > 5


async def test_a_purge_that_is_refused_for_a_full_disk_has_deleted_nothing(disk: SmallDisk):
    figures = await erase_on_full_disk(disk, STEPS[::8])
    assert figures.clean, figures
    assert min(figures.purges_refused, figures.writes_refused, figures.passed) > 1
