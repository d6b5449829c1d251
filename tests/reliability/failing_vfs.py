"""A file access that counts its calls and lets one of them fail."""

# ruff: noqa: N802 - the names of the methods are SQLite's

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import apsw
from tests.reliability.passing_vfs import PassingFile, PassingVFS, path_of

if TYPE_CHECKING:
    from collections.abc import Buffer  # of Python 3.12

Fault: TypeAlias = Literal["EIO", "ENOSPC"]
_ERRORS: dict[Fault, type[apsw.Error]] = {"EIO": apsw.IOError, "ENOSPC": apsw.FullError}

# With blocks that are only assigned when they are flushed, a full disk may first be told by a sync.
WRITING = frozenset({"xWrite", "xTruncate", "xSync"})


class Call(NamedTuple):
    method: str
    file: str

    def __str__(self) -> str:
        return f"{self.method} {self.file}"


@dataclass
class Calls:
    """`fails` is the number of the call that shall fail, and `failed` what it turned out to be."""

    fails: int | None = None
    fault: Fault = "EIO"
    made: list[Call] = field(default_factory=list[Call])
    failed: Call | None = None

    def count(self, method: str, path: str | None) -> None:
        call = Call(method, Path(path).name if path else "a temporary file")
        self.made.append(call)
        if len(self.made) - 1 == self.fails:
            self.failed = call
            raise _ERRORS[self.fault](f"{self.fault} on purpose in {call}")


class FailingFile(PassingFile):
    """Closing and unlocking never fail: SQLite does not look at their results, and a lock left behind is no fault of
    a disk."""

    def __init__(self, calls: Calls, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._calls = calls
        calls.count("xOpen", path_of(name))
        super().__init__(name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._calls.count("xRead", self.path)
        return super().xRead(amount, offset)

    def xWrite(self, data: "Buffer", offset: int) -> None:
        try:
            self._calls.count("xWrite", self.path)
        except apsw.FullError:
            written = bytes(data)
            super().xWrite(written[: len(written) // 2], offset)  # a disk is full in the middle of a write
            raise
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._calls.count("xTruncate", self.path)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._calls.count("xSync", self.path)
        super().xSync(flags)

    def xFileSize(self) -> int:
        self._calls.count("xFileSize", self.path)
        return super().xFileSize()

    def xLock(self, level: int) -> None:
        self._calls.count("xLock", self.path)
        super().xLock(level)

    def xCheckReservedLock(self) -> bool:
        self._calls.count("xCheckReservedLock", self.path)
        return super().xCheckReservedLock()


class FailingVFS(PassingVFS):
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        super().__init__("failing")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> FailingFile:
        return FailingFile(self._calls, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._calls.count("xDelete", filename)
        super().xDelete(filename, syncdir)

    def xAccess(self, pathname: str, flags: int) -> bool:
        self._calls.count("xAccess", pathname)
        return super().xAccess(pathname, flags)

    def xFullPathname(self, name: str) -> str:
        self._calls.count("xFullPathname", name)
        return super().xFullPathname(name)
