"""The scale of freshness: what it is read from, and what it is worth."""

import os
from pathlib import Path

import pytest
from tests.support.code import symbol_of

from mcp_memory_service.models import FRESHNESS_FACTORS, Freshness, Memory, is_as_fresh
from mcp_memory_service.services.sources.freshness import freshness_by_age, freshness_of, freshness_or_age
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

FILE = "import os\n\n\n@cached\ndef load(path):\n    return os.stat(path)\n\n\ndef other():\n    return load\n"
DAY = MICROSECONDS_PER_DAY
RISING: list[Freshness] = ["stale_with_risk", "stale", "acceptable", "fresh"]


def test_a_file_is_looked_at_by_its_date_first(tmp_path: Path):
    file = tmp_path / "files.py"
    file.write_text(FILE)
    symbol = symbol_of(file, "files.load", 4, 6)
    assert freshness_of(symbol) == "fresh"
    os.utime(file, (1, 1))
    assert freshness_of(symbol) == "acceptable"
    file.write_text(FILE.replace("os.stat", "os.lstat"))
    assert freshness_of(symbol) == "stale"
    file.write_text("x = 1\n")
    assert freshness_of(symbol) == "stale_with_risk"
    file.write_bytes(b"\x00" * 8)
    assert freshness_of(symbol) == "stale_with_risk"
    file.unlink()
    assert freshness_of(symbol) == "stale_with_risk"


def test_age_stands_in_for_a_file_where_there_is_none(tmp_path: Path):
    memory = Memory("plain", "0" * 64, 0, 0)
    assert freshness_of(memory) is None
    ages = [freshness_by_age(0, now) for now in (-DAY, 7 * DAY, 7 * DAY + 1, 30 * DAY, 30 * DAY + 1, 5_000 * DAY)]
    assert ages == ["fresh", "fresh", "acceptable", "acceptable", "stale", "stale"]
    gone = symbol_of(tmp_path / "gone.py", "gone.f", 1, 2)
    assert freshness_or_age([memory, gone], 8 * DAY) == ["acceptable", "stale_with_risk"]


def test_the_factors_are_those_that_are_documented():
    assert dict(FRESHNESS_FACTORS) == {"fresh": 1.0, "acceptable": 0.9, "stale": 0.7, "stale_with_risk": 0.5}


@pytest.mark.parametrize("place", range(4))
def test_a_floor_leaves_what_is_as_fresh(place: int):
    assert [is_as_fresh(each, RISING[place]) for each in RISING] == [False] * place + [True] * (4 - place)
