"""The app in this process with a real file and the real model, and servers in processes of their own."""

import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import httpx
import pytest
from starlette.testclient import TestClient
from tests.support.forked_commands import ForkedCommands, forked_commands
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.api import create_app
from mcp_memory_service.config import load_settings

COMMAND = str(Path(sys.executable).with_name("mcp-memory"))


@contextmanager
def rest_client(path: Path, **overrides: Any) -> Generator[TestClient, None, None]:
    app = create_app(load_settings({"sqlite_path": path, **overrides}))
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def rest(tmp_path: Path) -> Generator[TestClient, None, None]:
    with rest_client(tmp_path / "rest.db") as client:
        yield client


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[bytes]
    http: httpx.Client
    log: Path

    @property
    def url(self) -> str:
        return str(self.http.base_url).rstrip("/")


@contextmanager
def server_process(
    folder: Path,
    *flags: str,
    command: Sequence[str] = (COMMAND,),
    cafile: str | None = None,
    **environment: str,
) -> Generator[Server, None, None]:
    """`mcp-memory serve` on a free port, stopped as a service manager would."""
    log = folder / "server.log"
    serve = [*command, "serve", "--http-port", "0", "--sqlite-path", str(folder / "server.db"), *flags]
    with log.open("wb") as stderr:
        process = subprocess.Popen(serve, stderr=stderr, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    try:
        verify = ssl.create_default_context(cafile=cafile)
        address = _address(process, log, verify)
        with httpx.Client(base_url=address, timeout=HANG_SECONDS, verify=verify) as client:
            yield Server(process, client, log)
    finally:
        process.terminate()
        try:
            process.wait(HANG_SECONDS)
        finally:
            process.kill()


def _address(process: subprocess.Popen[bytes], log: Path, verify: ssl.SSLContext) -> str:
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        lines = [line for line in log.read_text().splitlines() if "Serving REST on " in line]
        if lines:
            url = lines[0].split("Serving REST on ")[1].split(" ")[0]
            if _answers(f"{url}/ready", verify):
                return url
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text()}")


def _answers(url: str, verify: ssl.SSLContext) -> bool:
    try:
        return httpx.get(url, timeout=HANG_SECONDS, verify=verify).status_code == 200
    except httpx.TransportError:
        return False


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def commands() -> Generator[ForkedCommands, None, None]:
    """One for all tests of this process."""
    with tempfile.TemporaryDirectory() as folder, forked_commands(Path(folder)) as running:
        yield running


@pytest.fixture
def run_cli(tmp_path: Path, commands: ForkedCommands) -> Callable[..., Finished]:
    """Runs `mcp-memory` in a process of its own, on a store of this test."""

    def run(*arguments: str, stdin: str | None = None, **environment: str) -> Finished:
        settings = {"MCP_MEMORY_SQLITE_PATH": str(tmp_path / "cli.db"), **environment}
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write((stdin or "").encode())
            given.seek(0)
            stdio = (given.fileno(), out.fileno(), err.fileno())
            code = commands.run(arguments, stdio, {**os.environ, **settings}, HANG_SECONDS)
            return Finished(code, _text(out), _text(err))

    return run


def _text(written: IO[bytes]) -> str:
    written.seek(0)
    return written.read().decode().replace("\r\n", "\n").replace("\r", "\n")  # as subprocess reads text
