"""Files for their owner alone: never half a file under its name, and nothing left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.private_files import atomic_new_file, make_private, new_private_file, unnamed_new_file


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def test_a_file_gets_its_name_when_it_is_whole(tmp_path: Path):
    target = tmp_path / "target"
    with atomic_new_file(target) as part:
        assert mode(part) == 0o600
        part.write_text("whole")
        assert not target.exists()
    assert (target.read_text(), mode(target), names(tmp_path)) == ("whole", 0o600, {"target"})


KILLED = """
import sys
from pathlib import Path
from mcp_memory_service.private_files import unnamed_new_file
with unnamed_new_file(Path(sys.argv[1])) as out:
    out.write("half of a secret")
    out.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


def test_nothing_is_left_of_a_file_without_a_name_when_its_writer_is_killed(tmp_path: Path):
    command = [sys.executable, "-c", KILLED, str(tmp_path / "target")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        writer.kill()
    assert names(tmp_path) == set()


def test_a_file_without_a_name_gets_one_when_it_is_whole(tmp_path: Path):
    target = tmp_path / "target"
    with unnamed_new_file(target) as out:
        out.write("whole")
        assert names(tmp_path) == set()
    assert (target.read_text(), mode(target), names(tmp_path)) == ("whole", 0o600, {"target"})
    with pytest.raises(InvalidInput, match="exists already"), unnamed_new_file(target):
        pytest.fail("the name is taken")
    with pytest.raises(InvalidInput, match="exists already"), unnamed_new_file(tmp_path / "other") as out:
        (tmp_path / "other").write_text("first")
    assert (tmp_path / "other").read_text() == "first"


def test_where_every_file_has_a_name_what_was_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    left = tmp_path / f".target.{'0' * 16}.part"
    left.write_text("half of a secret")
    with unnamed_new_file(tmp_path / "target") as out:
        out.write("whole")
        assert not left.exists()
    assert ((tmp_path / "target").read_text(), names(tmp_path)) == ("whole", {"target"})


def test_a_file_that_fails_half_way_leaves_nothing(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), atomic_new_file(tmp_path / "target") as part:
        part.write_text(f"half {1 / 0}")
    assert names(tmp_path) == set()


def test_a_name_that_is_taken_stays_with_who_took_it(tmp_path: Path):
    target = tmp_path / "target"
    with pytest.raises(InvalidInput, match="exists already"), atomic_new_file(target):
        target.write_text("first")
    with pytest.raises(InvalidInput, match="exists already"), atomic_new_file(target):
        pytest.fail("the name is taken")
    assert (target.read_text(), names(tmp_path)) == ("first", {"target"})


def test_a_private_file_goes_with_whatever_was_put_beside_it(tmp_path: Path):
    with new_private_file(tmp_path / "[a]*") as part:
        part.with_name(f"{part.name}-journal").touch()
        (tmp_path / "other").touch()
    assert names(tmp_path) == {"other"}


def test_what_a_killed_process_left_behind_is_removed_after_a_day(tmp_path: Path):
    fresh, old, foreign = (tmp_path / f".a.{token}.part" for token in ("0" * 16, "1" * 16, "no token"))
    for file in (fresh, old, foreign):
        file.touch()
    for file in (old, foreign):
        os.utime(file, (1, 1))
    with new_private_file(tmp_path / "a"):
        pass
    assert names(tmp_path) == {fresh.name, foreign.name}


def test_a_file_that_was_open_to_others_is_closed_to_them(tmp_path: Path):
    file = tmp_path / "open"
    file.touch(mode=0o644)
    make_private(file)
    make_private(tmp_path / "missing")
    assert mode(file) == 0o600
