"""Processes that a server starts hold nothing of its own, and end with it."""

import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.integration.conftest import Server, server_process
from tests.support.patience import HANG_SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at the processes of the server in /proc")

ENOUGH = 60
"""Memories for an index in a file."""


@contextmanager
def server_with_builder(folder: Path) -> Generator[tuple[Server, int], None, None]:
    """A builder waits for another one, which here is this test, for as long as the block lasts."""
    with (folder / "server.db-index-lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with server_process(folder, MCP_MEMORY_SEARCH_INDEX_MIN_MEMORIES="50") as server:
            memories = [{"content": f"memory {number}"} for number in range(ENOUGH)]
            assert server.http.post("/memories/batch", json={"memories": memories}).status_code == 200
            wait_until(lambda: bool(builders_of(server.process.pid)))
            yield server, builders_of(server.process.pid)[0]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def builders_of(pid: int) -> list[int]:
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [child for child in children if b"build_process" in Path(f"/proc/{child}/cmdline").read_bytes()]


def listening_sockets() -> set[str]:
    """As /proc calls them, of all processes."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}


def files_of(pid: int) -> set[str]:
    return {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}


def is_running(pid: int) -> bool:
    """A process that has ended and that nobody has asked about still has a name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_builder_does_not_hold_the_port_of_its_server(tmp_path: Path):
    with server_with_builder(tmp_path) as (server, builder):
        assert files_of(server.process.pid) & listening_sockets()
        assert not files_of(builder) & listening_sockets()


def test_a_killed_server_frees_its_port_and_ends_its_builder(tmp_path: Path):
    with server_with_builder(tmp_path) as (server, builder):
        address = urlsplit(server.url)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(HANG_SECONDS)
        with socket.socket() as next_server:
            next_server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            next_server.bind((address.hostname, address.port))
            next_server.listen()
        wait_until(lambda: not is_running(builder))


def test_a_stopped_server_leaves_no_builder(tmp_path: Path):
    with server_with_builder(tmp_path) as (server, builder):
        os.kill(server.process.pid, signal.SIGTERM)
        server.process.wait(HANG_SECONDS)
        assert not is_running(builder)
