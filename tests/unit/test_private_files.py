"""Files for their owner alone: never half a file under its name, and nothing left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.errors import InvalidInput, StoreRefused
from mcp_memory_service.private_files import (
    atomic_new_file,
    make_private,
    new_private_file,
    open_lock_file,
    remove_abandoned,
)


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


def test_what_a_link_leads_to_is_not_closed_to_others(tmp_path: Path):
    file = tmp_path / "open"
    file.touch(mode=0o644)
    (tmp_path / "link").symlink_to(file)
    make_private(tmp_path / "link")
    assert mode(file) == 0o644


@pytest.mark.parametrize("there", [True, False])
def test_a_lock_is_not_taken_through_a_link(tmp_path: Path, there: bool):
    file = tmp_path / "file"
    if there:
        file.touch()
    (tmp_path / "lock").symlink_to(file)
    with pytest.raises(StoreRefused, match="lock is a symbolic link"):
        open_lock_file(tmp_path / "lock", owned_like=tmp_path)
    assert file.exists() is there


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_root_gives_away_what_it_has_made_and_nothing_else(tmp_path: Path):
    store, new, old = (tmp_path / name for name in ("store", "new", "old"))
    store.touch()
    old.touch()
    os.chown(store, 12345, 12345)
    for lock in (new, old):
        os.close(open_lock_file(lock, owned_like=store))
    assert [(file.stat().st_uid, file.stat().st_gid) for file in (new, old)] == [(12345, 12345), (0, 0)]


WRITE_UNTIL_KILLED = """
import sys, time
from pathlib import Path
from mcp_memory_service.private_files import new_private_file

with new_private_file(Path(sys.argv[1])) as part:
    part.write_text("half a copy")
    part.with_name(f"{part.name}-journal").touch()
    print("begun", flush=True)
    time.sleep(3600)
"""


def test_what_a_killed_process_left_behind_is_removed_at_once_and_what_is_being_written_is_not(tmp_path: Path):
    command = [sys.executable, "-c", WRITE_UNTIL_KILLED, str(tmp_path / "a.backup")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begun\n"
        parts = {str(tmp_path / name) for name in names(tmp_path) if name.endswith(".part")}
        assert {str(part) for part in remove_abandoned(tmp_path)} == parts != set()
        writer.send_signal(signal.SIGKILL)
        writer.wait(HANG_SECONDS)
    assert len(names(tmp_path)) == 3  # the part, its journal and its lock
    assert remove_abandoned(tmp_path) == []
    assert names(tmp_path) == set()
