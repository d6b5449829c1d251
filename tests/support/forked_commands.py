"""`mcp-memory` as a process of its own, forked from one that has imported everything: a second of CPU cheaper than a
new interpreter, and otherwise the same."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

IMPORTED_BY_MOST = (
    "apsw",
    "mcp_memory_service.bootstrap",
    "mcp_memory_service.embeddings.local_onnx",
    "mcp_memory_service.indexing",
    "mcp_memory_service.storage.sqlite_vec",
    "onnxruntime",
    "sqlite_vec",
    "tokenizers",
)
_MAX_REQUEST = 4 * 1024 * 1024


class ForkedCommands:
    """Of one test process; several threads may run commands at once."""

    def __init__(self, address: Path) -> None:
        self._address = address

    def run(
        self, arguments: Sequence[str], stdio: Sequence[int], environment: dict[str, str], timeout_seconds: float
    ) -> int:
        """The exit code of one command, run in the current folder; negative if a signal ended it."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout_seconds)
            connection.connect(str(self._address))
            request = {"arguments": list(arguments), "environment": environment, "folder": str(Path.cwd())}
            socket.send_fds(connection, [b"."], list(stdio))
            connection.sendall(json.dumps(request).encode())
            connection.shutdown(socket.SHUT_WR)
            return int(connection.recv(16))


@contextmanager
def forked_commands(folder: Path) -> Generator[ForkedCommands, None, None]:
    address = folder / "commands"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.forked_commands", str(address)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield ForkedCommands(address)
        finally:
            process.terminate()


def _serve(address: str) -> None:
    from mcp_memory_service.cli.main import LazyCommand, cli  # noqa: PLC0415 - in the process that is forked alone

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the entry point does before numpy is imported
    for module in IMPORTED_BY_MOST:
        import_module(module)
    for command in cli.commands.values():
        if isinstance(command, LazyCommand):
            command.load()
    assert threading.active_count() == 1, "a thread would not live on in what is forked"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who waits for commands is not waited for
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()


def _answer(connection: socket.socket) -> None:
    """Run the command of one connection, and say how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, stdio, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(b"".join(iter(lambda: connection.recv(_MAX_REQUEST), b"")))
    child = os.fork()
    if child == 0:
        connection.close()
        _become(request, stdio)
    for descriptor in stdio:
        os.close(descriptor)
    _, status = os.waitpid(child, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(request: dict[str, Any], stdio: Sequence[int]) -> None:
    for target, descriptor in enumerate(stdio):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["mcp-memory", *request["arguments"]]
    from mcp_memory_service.command import main  # noqa: PLC0415

    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - what an interpreter does with it at its end
        sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
