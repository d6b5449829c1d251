"""Nothing leaves the machine: the short form of the watch, and that the watch sees what it should."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz import outbound
from tests.fuzz.open_sockets import address, foreign_sockets
from tests.fuzz.watched import is_foreign

LINUX = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the tables of the Linux kernel")
# An address of RFC 5737, which nobody has. To connect a datagram socket sends nothing.
CALL_OUT = """
import socket, sys
from pathlib import Path
from tests.fuzz.watched import watch
watch(Path(sys.argv[1]))
near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
near.connect(("127.0.0.1", 9))
far.connect(("192.0.2.1", 9))
print("connected", flush=True)
sys.stdin.read()
"""


@LINUX
def test_storing_searching_listing_and_deleting_call_nobody(tmp_path: Path):
    figures = outbound.run(tmp_path, seconds=3)
    assert figures.clean, figures.failures
    assert {"batch 200", "search 200", "delete 204", "retrieve_memory over stdio result"} <= figures.statuses.keys()


@LINUX
def test_the_watch_sees_a_call_by_its_hook_and_in_the_tables_of_the_kernel(tmp_path: Path):
    command = [sys.executable, "-c", CALL_OUT, str(tmp_path / "notes.txt")]
    paths = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=paths) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"connected\n"
        assert foreign_sockets(process.pid) == {"192.0.2.1"}
        process.stdin.close()
    assert (tmp_path / "notes.txt").read_text() == "socket.connect ('192.0.2.1', 9)\n"


@pytest.mark.parametrize(
    ("where", "foreign"),
    [
        (("127.0.0.1", 80), False), (("::1", 80, 0, 0), False), ("localhost", False), ("/run/socket", False),
        (None, False),
        (("192.0.2.1", 80), True), (("2001:db8::1", 80, 0, 0), True), ("embedder.example", True), ("10.0.0.1", True),
    ],
)  # fmt: skip
def test_only_this_machine_is_not_foreign(where: object, foreign: bool):
    assert is_foreign(where) is foreign


def test_the_addresses_of_the_kernel_are_read():
    assert address("0100007F") == "127.0.0.1"
    assert address("00000000000000000000000001000000") == "::1"
