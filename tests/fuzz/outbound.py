"""A while of use, over REST, MCP and stdio: does any process of ours call out?

`python -m tests.fuzz.outbound --seconds 60`.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from tests.integration.conftest import Server, server_process

from .mcp_messages import INITIALIZE, tool_call
from .mcp_over_http import HEADERS
from .mcp_over_stdio import StdioServer, stdio_server
from .mutations import written
from .open_sockets import foreign_sockets
from .target import Figures

BATCH = 100  # so that a minute makes the 2,000 memories from which on a process of its own builds an index


def run(folder: Path, seconds: float) -> Figures:
    """Each door for a third of the time and at least once."""
    figures, notes = Figures(seed=0), folder / "notes.txt"
    notes.touch()
    watched = (sys.executable, "-m", "tests.fuzz.watched", str(notes))
    paths = ":".join(filter(None, sys.path))  # that the launcher is found, wherever it is started
    with server_process(folder, command=watched, PYTHONPATH=paths) as server:
        _use(lambda number: _over_rest(server.http, number), server.process.pid, seconds / 3, figures)
        _use(lambda number: _over_mcp(server, number), server.process.pid, seconds / 3, figures)
    with stdio_server(folder, watched, PYTHONPATH=paths) as piped:
        piped.ask(INITIALIZE)
        _use(lambda number: _over_stdio(piped, number), piped.process.pid, seconds / 3, figures)
        piped.close()
    for line in notes.read_text().splitlines():
        figures.fail(line)
    return figures


def _use(once: Callable[[int], Iterator[str]], process: int, seconds: float, figures: Figures) -> None:
    """Over and over until the time is over; after every call the sockets of the process are looked at."""
    until, number = time.monotonic() + seconds, 0
    while number == 0 or time.monotonic() < until:
        for answer in once(number):
            figures.sent += 1
            figures.count(answer)
            for address in foreign_sockets(process):
                figures.fail(f"a socket to {address} after {answer}")
        number += 1


def _over_rest(http: httpx.Client, number: int) -> Iterator[str]:
    memories = [{"content": f"note {number}.{each} on rathole and port {each}", "tags": ["t"]} for each in range(BATCH)]
    stored = http.post("/memories/batch", json={"memories": memories})
    yield f"batch {stored.status_code}"
    yield f"search {http.post('/memories/retrieve', json={'query': 'which port', 'debug': True}).status_code}"
    yield f"list {http.get('/memories?tags=t').status_code}"
    yield f"ready {http.get('/ready').status_code}"
    yield f"delete {http.delete('/memories/' + stored.json()['results'][0]['content_hash']).status_code}"


def _over_mcp(server: Server, number: int) -> Iterator[str]:
    for call in _calls(number):
        answer = server.http.post("/mcp", content=written(call), headers=HEADERS)
        yield f"{call['id']} over HTTP {answer.status_code}"


def _over_stdio(server: StdioServer, number: int) -> Iterator[str]:
    for call in _calls(number):
        yield f"{call['id']} over stdio {'result' if 'result' in server.ask(call) else 'error'}"


def _calls(number: int) -> Iterator[dict[str, Any]]:
    yield tool_call("store_memory", {"content": f"fact {number} on rathole", "tags": ["rathole"]})
    yield tool_call("retrieve_memory", {"query": "rathole"})
    yield tool_call("list_memories", {})
    yield tool_call("memory_overview", {})
    yield tool_call("delete_memory", {"id": "0" * 64})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-fuzz-") as folder:
        figures = run(Path(folder), options.seconds)
    figures.tell_and_exit()


if __name__ == "__main__":
    main()
