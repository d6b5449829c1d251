"""Short forms of the parts of `python -m tests.reliability.full_disk`."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.reliability.full_disk import MEGABYTES, play_rounds
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
