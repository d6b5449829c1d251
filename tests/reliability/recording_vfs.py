"""A file access that writes down, in order, everything that changes the disk, and when it was made safe."""

# ruff: noqa: N802 - the names of the methods are SQLite's

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import apsw
from tests.reliability.passing_vfs import PassingFile, PassingVFS

if TYPE_CHECKING:
    from collections.abc import Buffer  # of Python 3.12

_JOURNALS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


@dataclass(frozen=True, slots=True)
class Created:
    """A new file under this name; a name that is deleted and made again gets another number."""

    name: str
    file: int


@dataclass(frozen=True, slots=True)
class Written:
    file: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    file: int
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    file: int
    folder_too: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    name: str
    folder_synced: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the workload is: so many operations were begun, so many acknowledged."""

    begun: int
    acknowledged: int


Entry: TypeAlias = Created | Written | Truncated | Synced | Deleted | Mark


class RecordingFile(PassingFile):
    def __init__(self, vfs: "RecordingVFS", name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(name, flags)
        self._record = vfs.record
        self._number = vfs.number_of(self.path) if self.path else None
        # SQLite's own: the first sync of a journal or WAL, if it was opened to be created, syncs the folder as well.
        self._folder_sync_due = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _JOURNALS)

    def xWrite(self, data: "Buffer", offset: int) -> None:
        super().xWrite(data, offset)
        if self._number is not None:
            self._record.append(Written(self._number, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        if self._number is not None:
            self._record.append(Truncated(self._number, newsize))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        if self._number is not None:
            self._record.append(Synced(self._number, self._folder_sync_due))
            self._folder_sync_due = False


class RecordingVFS(PassingVFS):
    """`durable` are the files that are safely on the disk when the record begins."""

    def __init__(self, durable: Mapping[Path, bytes]) -> None:
        self.record: list[Entry] = []
        self.durable = {path.name: content for path, content in durable.items()}
        self._numbers = {name: number for number, name in enumerate(self.durable)}
        self._next_number = len(self._numbers)
        super().__init__("recording")

    def number_of(self, path: str) -> int:
        """A file that is not known is new, also if the program made it without SQLite."""
        name = Path(path).name
        if name not in self._numbers:
            self._numbers[name] = self._next_number
            self._next_number += 1
            self.record.append(Created(name, self._numbers[name]))
        return self._numbers[name]

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> RecordingFile:
        return RecordingFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        name = Path(filename).name
        if self._numbers.pop(name, None) is not None:
            self.record.append(Deleted(name, syncdir))
