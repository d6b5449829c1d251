"""Progress is told while it matters: always to a person who watches, in a log only if it takes long."""

import io
import sys
import time

import pytest

from mcp_memory_service.cli.progress import LOG_SECONDS, ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO, seconds_each: float, monkeypatch: pytest.MonkeyPatch) -> str:
    clock = iter([1000 + seconds_each * number for number in range(100)])
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    progress = ProgressLine()
    for done in range(5):
        progress("Copying", done, 4)
    return stream.getvalue()


def test_a_person_sees_every_step_and_the_end(monkeypatch: pytest.MonkeyPatch):
    shown = told(Terminal(), 1.0, monkeypatch)
    assert shown.count("\r") == 5
    assert shown.endswith("4/4\n")


def test_a_log_says_nothing_of_what_is_quickly_done(monkeypatch: pytest.MonkeyPatch):
    assert told(io.StringIO(), 0.1, monkeypatch) == ""


def test_a_log_says_now_and_then_how_far_long_work_has_come(monkeypatch: pytest.MonkeyPatch):
    lines = told(io.StringIO(), LOG_SECONDS, monkeypatch).splitlines()
    assert [line.split("] ")[1].split(" ")[0] for line in lines] == ["1/4", "2/4", "3/4", "4/4"]
    assert "about 30 s left" in lines[1]
