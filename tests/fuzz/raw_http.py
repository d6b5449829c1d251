"""Mutated HTTP over sockets: every connection is answered with less than 500 or closed, and others are served.

`python -m tests.fuzz.raw_http --connections 5000 --seed 1`.
"""

import argparse
import random
import re
import socket
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.patience import HANG_SECONDS

from .raw_requests import Attack, attack
from .target import Figures, look_afterwards, server_under_fire

AT_ONCE = 8
# A server that waits for the rest of a request says nothing for so long; then it is told that there is no rest.
SILENCE_SECONDS = 0.3
SHOWN_BYTES = 600
STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3}) [^\r\n]*\r\n")


def run(folder: Path, connections: int, seed: int) -> Figures:
    figures, chance = Figures(seed), random.Random(seed)
    with server_under_fire(folder) as server:
        address = urlsplit(server.url)
        assert address.hostname is not None
        assert address.port is not None
        authority = address.netloc.encode()
        attacks = [attack(authority, chance) for _ in range(connections)]
        ask = partial(_answer, (address.hostname, address.port))
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for made, answer in zip(attacks, threads.map(ask, attacks), strict=True):
                _judge(made, answer, figures)
        look_afterwards(server, figures)
    return figures


def _answer(where: tuple[str, int], made: Attack) -> bytes | None:
    """All that comes back until the server closes (a reset counts as closed); None if it never does."""
    received = bytearray()
    with socket.create_connection(where, timeout=HANG_SECONDS) as connection:
        try:
            connection.sendall(made.sent)
            connection.settimeout(SILENCE_SECONDS)
            if not _read_to_the_end(connection, received):
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(HANG_SECONDS)
                if not _read_to_the_end(connection, received):
                    return None
        except ConnectionError:
            pass
    return bytes(received)


def _read_to_the_end(connection: socket.socket, received: bytearray) -> bool:
    """False if the time for a next part was over first."""
    try:
        while part := connection.recv(65_536):
            received += part
    except TimeoutError:
        return False
    return True


def _judge(made: Attack, answer: bytes | None, figures: Figures) -> None:
    figures.sent += 1
    if answer is None:
        figures.fail(f"neither answered nor closed: {made.sent[:SHOWN_BYTES]!r}")
        return
    statuses = [int(status) for status in STATUS_LINE.findall(answer)]
    for status in statuses or ["closed"]:
        figures.count(str(status))
    if any(status >= 500 or (made.must_refuse and status < 400) for status in statuses):
        figures.fail(f"{statuses} for {made.sent[:SHOWN_BYTES]!r}: {answer[:SHOWN_BYTES]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-fuzz-") as folder:
        figures = run(Path(folder), options.connections, options.seed)
    figures.tell_and_exit()


if __name__ == "__main__":
    main()
