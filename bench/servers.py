"""A real `mcp-memory serve` for the benches, on a free loopback port."""

import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

T = TypeVar("T")
COMMAND = str(Path(sys.executable).with_name("mcp-memory"))


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[bytes]
    url: str
    started: float
    """When the process was started, as time.perf_counter()."""


@contextmanager
def server_on(store: Path) -> Generator[Server, None, None]:
    """Running, not necessarily ready; its log is written beside the store."""
    log = store.with_name("server.log")
    command = [COMMAND, "serve", "--http-port", "0", "--sqlite-path", str(store)]
    started = time.perf_counter()
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr)
    try:
        yield Server(process, wait_for(lambda: _address_in(log)), started)
    finally:
        process.terminate()
        process.wait()


def wait_until_ready(server: Server) -> float:
    """Seconds from its start until it says so."""
    wait_for(lambda: _is_ready(server.url))
    return time.perf_counter() - server.started


def wait_for_first_answer(server: Server, query: str) -> dict[str, Any]:
    """The first answer to a search, and in `seconds` how long after the start of the process it came."""
    answer = wait_for(lambda: _answer_if_any(server.url, query))
    return {"seconds": time.perf_counter() - server.started, **answer}


def wait_for(attempt: Callable[[], T | None], limit_seconds: float = 120) -> T:
    deadline = time.perf_counter() + limit_seconds
    while time.perf_counter() < deadline:
        if outcome := attempt():
            return outcome
        time.sleep(0.01)
    raise TimeoutError("the server did not start")


def _address_in(log: Path) -> str | None:
    text = log.read_text()
    return text.split("Serving REST on ")[1].split(" ")[0] if "Serving REST on " in text else None


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ready").status_code == 200
    except httpx.TransportError:
        return False


def answer_to(url: str, query: str) -> dict[str, Any]:
    answer = httpx.post(f"{url}/memories/retrieve", json={"query": query}, timeout=120)
    return answer.raise_for_status().json()


def _answer_if_any(url: str, query: str) -> dict[str, Any] | None:
    try:
        return answer_to(url, query)
    except httpx.HTTPError:
        return None
