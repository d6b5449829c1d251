"""Fuzzed MCP messages over stdio: every whole request is answered, stdout is protocol only, the process lives on.

`python -m tests.fuzz.mcp_over_stdio --messages 5000 --seed 1`.
"""

import argparse
import json
import os
import queue
import random
import subprocess
import tempfile
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from tests.integration.conftest import COMMAND
from tests.support.patience import HANG_SECONDS

from .mcp_messages import INITIALIZE, LIST_TOOLS, complaint, message, owed_id, tool_call, tools_of
from .mutations import written
from .target import Figures, tracebacks

MESSAGES_AT_ONCE = 25  # as many as are sent before their answers are awaited
SHOWN_BYTES = 500


class StdioServer:
    """`mcp-memory mcp` with its pipes; a thread empties its standard output, so that it never waits for us."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.log = log
        self._stdin, self._stdout = process.stdin, process.stdout
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def receive(self) -> bytes:
        """The next line; empty at the end."""
        try:
            return self._lines.get(timeout=HANG_SECONDS)
        except queue.Empty:
            raise TimeoutError("the server does not answer") from None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.send(written(request))
        while line := self.receive():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == request["id"]:
                return answer
        raise AssertionError(f"the server ended: {self.log.read_text()}")

    def close(self) -> int:
        self._stdin.close()
        code = self.process.wait(HANG_SECONDS)
        self._reader.join(HANG_SECONDS)
        return code


@contextmanager
def stdio_server(
    folder: Path, command: Sequence[str] = (COMMAND,), **environment: str
) -> Generator[StdioServer, None, None]:
    log = folder / "stdio.log"
    serve = [*command, "mcp", "--sqlite-path", str(folder / "stdio.db")]
    pipe, inherited = subprocess.PIPE, {**os.environ, **environment}
    with (
        log.open("wb") as stderr,
        subprocess.Popen(serve, stdin=pipe, stdout=pipe, stderr=stderr, env=inherited) as process,
    ):
        try:
            yield StdioServer(process, log)
        finally:
            process.kill()


def run(folder: Path, messages: int, seed: int) -> Figures:
    figures, chance = Figures(seed), random.Random(seed)
    with stdio_server(folder) as server:
        server.ask(INITIALIZE)
        tools = tools_of(server.ask(LIST_TOOLS)["result"])
        for first in range(0, messages, MESSAGES_AT_ONCE):
            numbers = range(first, min(first + MESSAGES_AT_ONCE, messages))
            lines = [_one_line(message(number, tools, chance)) for number in numbers]
            figures.sent += len(lines)
            try:
                _exchange(server, lines, figures)
            except (TimeoutError, BrokenPipeError, EOFError) as error:
                figures.fail(f"messages {numbers}: {error!r}: {server.log.read_text()[-2_000:]}")
                return figures
        _look_afterwards(server, figures)
    return figures


def _one_line(text: bytes) -> bytes:
    """A line break ends a message here."""
    return text.replace(b"\n", b" ").replace(b"\r", b" ")


def _exchange(server: StdioServer, lines: list[bytes], figures: Figures) -> None:
    """Send all, then read until each id that is owed an answer has one, and a ping after them as well."""
    owed = {owed_id(line): line for line in lines} | {"ping": b""}
    owed.pop(None, None)
    for line in (*lines, written({"jsonrpc": "2.0", "id": "ping", "method": "ping"})):
        server.send(line)
    while owed:
        if not (answer := server.receive()):
            raise EOFError(f"the server ended with {owed} unanswered")
        read = _judge(answer, owed, figures)
        owed.pop(read.get("id"), None)


def _judge(line: bytes, owed: dict[str | None, bytes], figures: Figures) -> dict[str, Any]:
    """What was read; empty if it is no message."""
    try:
        read: Any = json.loads(line)
    except ValueError:
        read = None
    answer = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    wrong = complaint(read)
    figures.count(wrong or next(kind for kind in ("error", "result", "method") if kind in answer))
    if wrong:
        figures.fail(f"{wrong} for {owed.get(answer.get('id'), b'')[:SHOWN_BYTES]!r}: {line[:SHOWN_BYTES]!r}")
    return answer


def _look_afterwards(server: StdioServer, figures: Figures) -> None:
    for name, arguments in (
        ("store_memory", {"content": "stored afterwards"}),
        ("retrieve_memory", {"query": "stored"}),
    ):
        answer = server.ask(tool_call(name, arguments))
        if answer.get("result", {}).get("isError", True):
            figures.fail(f"{name} does not work afterwards: {answer}")
    for last_line in tracebacks(server.log):
        figures.fail(f"a traceback in the log of the server: {last_line}")
    if code := server.close():
        figures.fail(f"the server ended with exit code {code}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-fuzz-") as folder:
        figures = run(Path(folder), options.messages, options.seed)
    figures.tell_and_exit()


if __name__ == "__main__":
    main()
