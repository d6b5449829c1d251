"""The stand-in in a process of its own, which can be killed and started again on the same folder."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]
STOP_SECONDS = 100.0
"""Closing hundreds of collections takes half a minute on a busy machine; only a hang takes longer."""


class StandInProcess:
    def __init__(self, folder: Path, port: int = 0, *flags: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._flags = flags
        self._start(port)

    def _start(self, port: int) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.support.qdrant_stand_in",
            str(self._folder),
            "--port",
            str(port),
            *self._flags,
        ]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url, "the stand-in did not start"
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self) -> None:
        """As a power cut would, for the process."""
        self.process.kill()
        self._ended()

    def restart(self) -> None:
        """On the same folder and port."""
        self._start(self.port)

    def stop(self) -> None:
        self.process.terminate()
        self._ended()

    def _ended(self) -> None:
        self.process.wait(STOP_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def stand_in(folder: Path, *flags: str) -> Generator[StandInProcess, None, None]:
    running = StandInProcess(folder, 0, *flags)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()
