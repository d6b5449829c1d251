"""Writers whose every operation is known beforehand, so that a copy of their store can be told to be a moment of it."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.contract.memories import memory

from mcp_memory_service.models import Memory

from .worker import work_on, write_until_told_to_stop
from .workload import BATCH, WORDS, Operation


@dataclass
class Numbered:
    """The operations of one writer: memories with running numbers, in batches now and then, and its oldest deleted."""

    writer: int
    _count: int = 0
    _kept: list[str] = field(default_factory=list[str])

    def next(self) -> Operation:
        self._count += 1
        if self._count % 4 == 0:
            return Operation("delete", (self._kept.pop(0),))
        return self._storing("batch", BATCH) if self._count % 5 == 0 else self._storing("store", 1)

    def acknowledged(self, operation: Operation) -> None:
        """The next one is the same whatever the answer was: an error spoils the whole run."""

    def _storing(self, kind: Literal["batch", "store"], size: int) -> Operation:
        contents = tuple(self._content(part) for part in range(size))
        self._kept += contents
        return Operation(kind, contents, (name_of(self.writer), f"w{self.writer}-{self._count // 50}"))

    def _content(self, part: int) -> str:
        chance = random.Random(f"{self.writer} {self._count} {part}")
        words = " ".join(chance.choices(WORDS, k=chance.randrange(5, 200)))
        return f"operation {self._count} part {part} of {name_of(self.writer)} {words}"


def name_of(writer: int) -> str:
    return f"writer{writer}"


def write_numbered(path: Path, journal: Path, writer: int) -> None:
    """The life of a writer process, until SIGTERM."""
    work_on(path, journal, lambda store, journal: write_until_told_to_stop(store, journal, Numbered(writer)))


class Course:
    """What one writer leaves in the store, operation by operation."""

    def __init__(self, writer: int) -> None:
        self._plan = Numbered(writer)
        self._operations: list[Operation] = []

    def moment(self, found: Mapping[str, Memory], earliest: int, latest: int) -> int | None:
        """After how many operations, within these bounds, exactly this was there; None if it never was."""
        while len(self._operations) < latest:
            self._operations.append(self._plan.next())
        there: dict[str, tuple[str, ...]] = {}
        for done in range(latest + 1):
            if done:
                _apply(self._operations[done - 1], there)
            if done >= earliest and there.keys() == found.keys():
                # No two moments have the same contents: new ones come with new numbers and nothing comes back.
                exactly = all(found[content] == memory(content, *tags) for content, tags in there.items())
                return done if exactly else None
        return None


def _apply(operation: Operation, there: dict[str, tuple[str, ...]]) -> None:
    if operation.kind == "delete":
        del there[operation.contents[0]]
    else:
        there.update(dict.fromkeys(operation.contents, operation.tags))
