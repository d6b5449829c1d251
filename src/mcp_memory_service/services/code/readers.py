"""Many files of code read at once, in processes of their own; a few are read here."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from threading import Timer
from typing import Self, cast

from ...code_reader_process import COMMAND, Batch, ReadCode, Unparsed, read_batch, receive, send
from ...indexing.code import ProjectConfig

FEW_CHARS = 500_000
"""So much is read here in less than half a second: processes would take as long to start."""
BATCH_CHARS = 200_000
"""Sent at once: enough that sending does not count, and few enough that all processes end together."""
BATCH_SECONDS = 60.0
"""A batch takes a tenth of a second. A process that takes longer is stuck at one of its files."""
MAX_PROCESSES = 4
CRASHED = Unparsed("its reader crashed or did not come to an end")


class Readers:
    """Processes that read; started when there is enough for them, and ended with the block."""

    def __init__(self) -> None:
        self._idle: list[_Reader] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._idle:
            reader.close()

    def read(self, texts: Sequence[tuple[str, str]], config: ProjectConfig) -> list[ReadCode | Unparsed]:
        """What each became, by path and text, in their order. It waits: not for the event loop."""
        if sum(len(text) for _, text in texts) <= FEW_CHARS:
            return read_batch(Batch(texts, config))
        batches = [Batch(part, config) for part in _parts(texts)]
        with ThreadPoolExecutor(min(MAX_PROCESSES, os.cpu_count() or 1, len(batches))) as threads:
            return list(chain.from_iterable(threads.map(self._answered, batches)))

    def _answered(self, batch: Batch) -> list[ReadCode | Unparsed]:
        try:
            reader = self._idle.pop()  # there are never more than threads
        except IndexError:
            reader = _Reader()
        try:
            return reader.read(batch)
        finally:
            self._idle.append(reader)


def _parts(texts: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    part: list[tuple[str, str]] = []
    size = 0
    for path, text in texts:
        part.append((path, text))
        size += len(text)
        if size >= BATCH_CHARS:
            yield part
            part, size = [], 0
    if part:
        yield part


class _Reader:
    """One process; another one takes its place if it crashes."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, batch: Batch) -> list[ReadCode | Unparsed]:
        found = self._asked(batch)
        if found is None and len(batch.texts) == 1:
            return [CRASHED]
        if found is None:  # whose fault it is, is found one by one
            return list(chain.from_iterable(self.read(Batch([text], batch.config)) for text in batch.texts))
        return found

    def _asked(self, batch: Batch) -> list[ReadCode | Unparsed] | None:
        """None if the process ended over it."""
        process = self._process or self._started()
        assert process.stdin is not None, "opened as a pipe"
        assert process.stdout is not None, "opened as a pipe"
        stuck = Timer(BATCH_SECONDS, process.kill)
        stuck.start()
        try:
            send(process.stdin, batch)  # pyright: ignore[reportArgumentType] -- a pipe of bytes
            return cast("list[ReadCode | Unparsed]", receive(process.stdout))  # pyright: ignore[reportArgumentType]
        except (EOFError, OSError):
            self.close()
            return None
        finally:
            stuck.cancel()

    def _started(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - ours
        return self._process

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
