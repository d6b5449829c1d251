"""What every door answers is what it answered when it was recorded."""

from pathlib import Path

from tests.recorded.play import play
from tests.recorded.record import differences, recorded


def test_every_door_answers_as_recorded(tmp_path: Path):
    before = recorded()
    assert len(before) >= 300
    assert differences(before, play(tmp_path)) == []
