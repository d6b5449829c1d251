"""Whose store it is: links in its place, root in the place of its owner, and a folder that others can write to."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.conftest import Finished
from tests.support.patience import HANG_SECONDS

Run = Callable[..., Finished]

BUILDER = "mcp_memory_service.storage.sqlite_vec.index.build.build_process"
ANOTHER_USER = 12345
HASH = "0" * 64

as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def path(run_cli: Run, tmp_path: Path) -> Path:
    assert run_cli("store", "mine").code == 0
    return tmp_path / "cli.db"


@pytest.mark.parametrize("lock", ["-turn", "-next"])
def test_a_link_in_the_place_of_a_lock_is_said_and_not_followed(run_cli: Run, path: Path, lock: str):
    link = path.with_name(path.name + lock)
    link.unlink()
    link.symlink_to("not there")
    done = run_cli("store", "more")
    assert (done.code, done.out) == (5, "")
    assert f"{link} is a symbolic link" in done.err
    assert not path.with_name("not there").exists()


def test_the_builder_of_the_index_follows_no_link(path: Path):
    path.with_name(f"{path.name}-index-lock").symlink_to("not there")
    command = [sys.executable, "-m", BUILDER, str(path), "0"]
    reading, writing = os.pipe()  # it ends with its input
    done = subprocess.run(command, stdin=reading, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    os.close(reading)
    os.close(writing)
    assert done.returncode != 0
    assert "is a symbolic link" in done.stderr
    assert not path.with_name("not there").exists()


@as_root
@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--http-port", "0"),
        ("mcp",),
        ("store", "x"),
        ("search", "x"),
        ("list",),
        ("stats",),
        ("delete", HASH),
        ("purge", HASH),
        ("feedback", "x", HASH, "--useful"),
        ("doctor",),
        ("doctor", "--repair"),
        ("backup", "copy"),
        ("restore", "copy"),
        ("migrate", "--from", "sqlite:", "--to", "sqlite:copy.db"),
        ("migrate", "--from", "sqlite:mine.db", "--to", "sqlite:"),
        ("import", "-"),
        ("export",),
        ("eval", "tune"),
        ("eval", "rollback"),
    ],
    ids=" ".join,
)
def test_root_keeps_out_of_the_store_of_another_user(run_cli: Run, path: Path, arguments: tuple[str, ...]):
    assert run_cli("store", "root's own", MCP_MEMORY_SQLITE_PATH="mine.db").code == 0
    before = path.read_bytes()
    os.chown(path, ANOTHER_USER, ANOTHER_USER)
    done = run_cli(*arguments, stdin="")
    assert (done.code, done.out) == (5, "")
    assert f"{path} belongs to the user #{ANOTHER_USER}, and this is root: run it as that user (sudo -u " in done.err
    assert (path.read_bytes(), path.stat().st_uid) == (before, ANOTHER_USER)


@as_root
def test_root_makes_no_store_in_the_folder_of_another_user(run_cli: Run, tmp_path: Path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, ANOTHER_USER, ANOTHER_USER)
    for name in ("new.db", "deep/new.db"):
        done = run_cli("store", "x", MCP_MEMORY_SQLITE_PATH=str(folder / name))
        assert (done.code, list(folder.iterdir())) == (5, [])
        assert f"{folder} belongs to the user" in done.err


@pytest.mark.parametrize(("mode", "told"), [(0o770, True), (0o707, True), (0o755, False), (0o1777, False)])
def test_a_folder_that_others_can_write_to_is_told_once(run_cli: Run, tmp_path: Path, mode: int, told: bool):
    folder = tmp_path / "a folder"
    folder.mkdir()
    folder.chmod(mode)
    done = run_cli("store", "x", MCP_MEMORY_SQLITE_PATH=str(folder / "new.db"))
    assert done.code == 0
    assert done.err.count(f"chmod go-w '{folder}'") == done.err.count("\n") == int(told)
