"""Writers take turns in order, and one that is stuck holds the others up for a limited time."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.errors import StorageUnavailable
from mcp_memory_service.storage.sqlite_vec.file.writer_queue import WriterQueue


def test_who_waits_goes_before_who_has_just_written(tmp_path: Path):
    turns = WriterQueue(tmp_path / "store.db", timeout_seconds=HANG_SECONDS)
    order: list[str] = []
    first_has_it, first_may_go = threading.Event(), threading.Event()

    def first() -> None:
        with turns.turn():
            first_has_it.set()
            first_may_go.wait(HANG_SECONDS)
            order.append("first")
        with turns.turn():
            order.append("first again")

    def second() -> None:
        with turns.turn():
            order.append("second")

    one, two = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    first_has_it.wait(HANG_SECONDS)
    two.start()
    _until_someone_waits_at_the_door(tmp_path / "store.db-next")
    first_may_go.set()
    one.join(HANG_SECONDS)
    two.join(HANG_SECONDS)
    assert order == ["first", "second", "first again"]


def _until_someone_waits_at_the_door(door: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    handle = os.open(door, os.O_RDWR | os.O_CREAT)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def test_a_turn_that_does_not_come_is_an_error_and_does_not_stay_taken(tmp_path: Path):
    turns = WriterQueue(tmp_path / "store.db", timeout_seconds=0.05)
    with turns.turn(), pytest.raises(StorageUnavailable, match="try again"), turns.turn():
        raise AssertionError("two have the turn")
    with WriterQueue(tmp_path / "store.db", timeout_seconds=HANG_SECONDS).turn():
        pass


def test_who_gave_up_and_comes_again_has_one_place_in_the_queue(tmp_path: Path):
    blocker = WriterQueue(tmp_path / "store.db", timeout_seconds=HANG_SECONDS)
    turns = WriterQueue(tmp_path / "store.db", timeout_seconds=0.02)
    with blocker.turn():
        before = threading.active_count()
        for _ in range(5):
            with pytest.raises(StorageUnavailable), turns.turn():
                raise AssertionError("two have the turn")
        assert threading.active_count() == before + 1
    with blocker.turn():
        pass  # nobody holds the turn who does not want it
    with WriterQueue(tmp_path / "store.db", timeout_seconds=HANG_SECONDS).turn():
        pass


def test_a_failure_inside_gives_the_turn_away(tmp_path: Path):
    turns = WriterQueue(tmp_path / "store.db", timeout_seconds=HANG_SECONDS)
    with pytest.raises(ZeroDivisionError), turns.turn():
        raise ZeroDivisionError
    with turns.turn():
        pass


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path):
    turns = WriterQueue(tmp_path / "gone" / "store.db", timeout_seconds=1)
    with pytest.raises(FileNotFoundError), turns.turn():
        raise AssertionError("there is nothing to lock")


TAKE_TURN = """
import sys
from pathlib import Path
from mcp_memory_service.storage.sqlite_vec.file.writer_queue import WriterQueue

with WriterQueue(Path(sys.argv[1]), timeout_seconds=3600).turn():
    print("writes", flush=True)
    sys.stdin.read()
"""


@contextmanager
def writer_process(store: Path) -> Generator[subprocess.Popen[bytes], None, None]:
    command = [sys.executable, "-c", TAKE_TURN, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_writer_that_was_stopped_is_named(tmp_path: Path):
    store = tmp_path / "store.db"
    with writer_process(store) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writes\n"
        writer.send_signal(signal.SIGSTOP)
        late = WriterQueue(store, timeout_seconds=0.05)
        with pytest.raises(StorageUnavailable, match=f"process {writer.pid} .*try again"), late.turn():
            raise AssertionError("two have the turn")


def test_a_writer_that_was_stopped_before_its_turn_is_named(tmp_path: Path):
    store = tmp_path / "store.db"
    with writer_process(store) as writer:
        with WriterQueue(store, timeout_seconds=HANG_SECONDS).turn():
            deadline = time.monotonic() + HANG_SECONDS
            next_in_line = tmp_path / "store.db-next"
            while str(writer.pid) not in (next_in_line.read_text() if next_in_line.exists() else ""):
                assert writer.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            writer.send_signal(signal.SIGSTOP)
        late = WriterQueue(store, timeout_seconds=0.05)
        with pytest.raises(StorageUnavailable, match=f"process {writer.pid} "), late.turn():
            raise AssertionError("it has overtaken")


def test_nobody_is_named_who_has_written_and_left(tmp_path: Path):
    with WriterQueue(tmp_path / "store.db", timeout_seconds=HANG_SECONDS).turn():
        pass
    assert not (tmp_path / "store.db-turn").read_text().strip()
