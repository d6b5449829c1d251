"""Importing many memories, and giving all of them out: in parts, again and again without harm.

There is no record of how far an import came. A text that the store has already is recognised before it is embedded, so
an import that was interrupted at any point goes on when it is started again, and what it stored costs little.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import InvalidInput, InvalidVector
from ...models import DEFAULT_NAMESPACE, KINDS_OF_FILES, Memory, MemoryDraft, is_main
from ...storage.ports import Store
from ..memory_service import MemoryService

SCAN_PART = 250
# Of so many lines the numbers are kept; more would be of no help, and memory is bounded.
MAX_NUMBERS = 1000


@dataclass(frozen=True, slots=True)
class ImportLine:
    number: int
    """From 1."""
    draft: MemoryDraft | InvalidInput
    """What the line says, or what is wrong with it."""
    namespace: str | None = None
    """Where it says that it belongs."""


class _Good(NamedTuple):
    """A line that can be stored, as far as can be told from it alone."""

    number: int
    draft: MemoryDraft
    namespace: str | None


@dataclass(frozen=True, slots=True)
class ImportReport:
    read: int
    created: int
    known: int
    """Lines whose content was there already; what they brought anew is united with it."""
    failed: int
    failed_lines: tuple[int, ...]
    """The first thousand."""


class Import:
    """Stores lines, each in the namespace that is given, else in the one that the line names, else in that of the
    service. A bad one raises InvalidInput after all before it are stored, or is told to `refused` and left out."""

    def __init__(
        self,
        service: MemoryService,
        refused: Callable[[InvalidInput], None] | None = None,
        namespace: str | None = None,
    ) -> None:
        self._service = service
        self._refused = refused
        self._namespace = namespace
        self._read = self._created = self._known = self._failed = 0
        self._failed_lines: list[int] = []

    @property
    def report(self) -> ImportReport:
        """What has come of it so far."""
        return ImportReport(self._read, self._created, self._known, self._failed, tuple(sorted(self._failed_lines)))

    async def add(self, lines: Sequence[ImportLine]) -> None:
        """Store a part; at most as many as a batch may have."""
        good: list[_Good] = []
        for line in lines:
            if not isinstance(line.draft, InvalidInput):
                good.append(_Good(line.number, line.draft, self._namespace or line.namespace))
                continue
            if self._refused is None:  # the last line: what stands before it is stored
                await self._store(good)
            self._refuse(line.number, line.draft)
        await self._store(good)

    async def _store(self, good: Sequence[_Good]) -> None:
        """Together where they belong together; lines of a batch in which one is refused come last, in their order."""
        refused: list[_Good] = []
        for namespace in dict.fromkeys(each.namespace for each in good):
            together = [each for each in good if each.namespace == namespace]
            try:
                outcomes = await self._within(namespace).store_batch([each.draft for each in together])
            except InvalidVector:  # the embedder's fault, not that of a line
                raise
            except InvalidInput:
                refused += together
            else:
                created = sum(outcome.created for outcome in outcomes)
                self._count(created, len(outcomes) - created)
        await self._store_one_by_one(sorted(refused, key=lambda each: each.number))

    async def _store_one_by_one(self, good: Sequence[_Good]) -> None:
        """One of them is refused: the others are not lost for it."""
        for each in good:
            try:
                outcome = await self._within(each.namespace).store_memory(each.draft)
            except InvalidVector:
                raise
            except InvalidInput as error:
                self._refuse(each.number, error)
            else:
                self._count(int(outcome.created), int(not outcome.created))

    def _within(self, namespace: str | None) -> MemoryService:
        return self._service if namespace is None else self._service.within(namespace)

    def _count(self, created: int, known: int) -> None:
        self._read += created + known
        self._created += created
        self._known += known

    def _refuse(self, number: int, error: InvalidInput) -> None:
        self._read += 1
        self._failed += 1
        if len(self._failed_lines) < MAX_NUMBERS:
            self._failed_lines.append(number)
        field = f"{error.field}: " if error.field and not error.message.startswith(error.field) else ""
        named = InvalidInput(f"Line {number}: {field}{error.message}", reason=error.code, field=error.field)
        if self._refused is None:
            raise named
        self._refused(named)


async def every_memory(storage: Store, namespace: str | None = DEFAULT_NAMESPACE) -> AsyncGenerator[Memory, None]:
    """All memories of a namespace, or with None of all of them, without histories, trash and what comes from files.
    What is there all the while comes exactly once; what is stored meanwhile may be left out."""
    cursor: str | None = None
    while True:
        part = await storage.scan(cursor, SCAN_PART)
        for item in part.items:
            is_ours = namespace in {None, item.memory.namespace} and is_main(item.memory.namespace)
            if is_ours and item.memory.kind not in KINDS_OF_FILES:
                yield item.memory
        cursor = part.cursor
        if cursor is None:
            return
