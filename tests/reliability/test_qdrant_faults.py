"""A short form of `make reliability`."""

from pathlib import Path

from tests.reliability.qdrant_faults import run


async def test_nothing_acknowledged_is_lost_on_a_bad_network_and_a_killed_server(tmp_path: Path):
    figures = await run(seconds=6.0, seed=3, folder=tmp_path)
    assert figures.clean, figures
    assert figures.acknowledged_writes > 20
    assert figures.faults > 10
