"""What a process did, told in a file of its own line by line, so that a kill loses nothing that was said."""

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .workload import Operation

INTENT, DONE, SEEN, ERROR, FINISHED = "intent", "done", "seen", "error", "finished"


class Journal:
    """Each line is one write to the system, which keeps it when the process dies."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def intent(self, operation: Operation) -> None:
        parts = [operation.kind, operation.contents, operation.tags, operation.revision]
        self._write(INTENT, parts)

    def done(self, seconds: float) -> None:
        """What was intended last (of a reader: one more read) has returned."""
        self._write(DONE, seconds)

    def seen(self) -> None:
        """What another process told of was found."""
        self._write(SEEN, None)

    def error(self, kind: str, message: str) -> None:
        self._write(ERROR, [kind, message])

    def finished(self, seconds: float) -> None:
        """The process has done all it had to do, so long after all began."""
        self._write(FINISHED, seconds)

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, event: str, value: Any) -> None:
        os.write(self._descriptor, json.dumps([event, value]).encode() + b"\n")


@dataclass
class Account:
    """A journal as it is read."""

    acknowledged: list[Operation] = field(default_factory=list[Operation])
    in_doubt: list[Operation] = field(default_factory=list[Operation])
    """Begun, with an error or nothing at all for an answer."""
    seconds: list[float] = field(default_factory=list[float])
    seen: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])
    finished: float | None = None


def read_journal(path: Path) -> Account:
    account = Account()
    pending: Operation | None = None
    for event, value in (json.loads(line) for line in _lines(path)):
        if event == INTENT:
            kind, contents, tags, revision = value
            pending = Operation(kind, tuple(contents), tuple(tags), revision)
        elif event == DONE:
            account.seconds.append(value)
            if pending:
                account.acknowledged.append(pending)
            pending = None
        elif event == SEEN:
            account.seen += 1
        elif event == ERROR:
            account.errors[": ".join(value)] += 1
            account.in_doubt += [pending] if pending else []
            pending = None
        elif event == FINISHED:
            account.finished = value
    account.in_doubt += [pending] if pending else []
    return account


def done_so_far(path: Path) -> int:
    """How often a process has heard a yes by now."""
    return _count(path, DONE)


def begun_so_far(path: Path) -> int:
    """How often a process has asked for something by now."""
    return _count(path, INTENT)


def _count(path: Path, event: str) -> int:
    begin = f'["{event}"'.encode()
    return sum(line.startswith(begin) for line in _lines(path))


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []
