"""A short form of `python -m tests.reliability.power_cuts`."""

from tests.reliability.power_cuts import run


def test_nothing_acknowledged_is_lost_when_the_power_goes():
    figures = run(seeds=200)
    assert figures.clean, figures
    assert figures.acknowledged > 500
    assert figures.cuts_in_operations > 20
    assert figures.cuts_in_migration > 5
    assert figures.cuts_in_creation > 5


def test_without_syncs_the_same_cuts_do_lose_memories_and_damage_the_file():
    damage = run(seeds=40, synchronous="off").damage
    assert damage.lost > 0
    assert damage.corrupt + damage.unopenable > 0


def test_without_a_sync_at_each_commit_the_same_cuts_lose_memories_but_damage_nothing():
    damage = run(seeds=40, synchronous="normal").damage
    assert damage.lost > 0
    assert damage.corrupt == 0
