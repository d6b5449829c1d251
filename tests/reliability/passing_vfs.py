"""SQLite's file access with Python in the middle: everything passes to the platform's own files and locks.

The calls for shared memory (the -shm file) do not come through Python; they pass as well.
"""

# ruff: noqa: N802 - the names of the methods are SQLite's

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

import apsw

# What the platform uses when nothing else is asked for, before any of ours is registered.
PLATFORM = apsw.vfs_names()[0]


def path_of(name: str | apsw.URIFilename | None) -> str | None:
    """A temporary file has no name."""
    return name.filename() if isinstance(name, apsw.URIFilename) else name


class PassingFile(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.path = path_of(name)
        self._may_write = bool(flags[0] & apsw.SQLITE_OPEN_READWRITE)
        super().__init__(PLATFORM, name, flags)

    def xLock(self, level: int) -> None:
        # A closing read-only connection tries for the exclusive lock, which the platform answers with an I/O error that
        # SQLite ignores. apsw would raise it all the same, but takes BUSY for what it is: no lock.
        if level == apsw.SQLITE_LOCK_EXCLUSIVE and not self._may_write:
            raise apsw.BusyError("not with a file that is open for reading only")
        super().xLock(level)

    def excepthook(
        self, etype: type[BaseException] | None, evalue: BaseException | None, etraceback: TracebackType | None
    ) -> bool:
        """Errors on purpose need no trace on the screen."""
        return True


class PassingVFS(apsw.VFS):
    def __init__(self, name: str) -> None:
        super().__init__(name, base=PLATFORM, makedefault=True, maxpathname=0)

    def excepthook(
        self, etype: type[BaseException] | None, evalue: BaseException | None, etraceback: TracebackType | None
    ) -> bool:
        return True


AnyVFS = TypeVar("AnyVFS", bound=PassingVFS)


@contextmanager
def default_while_open(vfs: AnyVFS) -> Generator[AnyVFS, None, None]:
    """Every connection opened inside goes through it: the program under test needs no hook."""
    try:
        yield vfs
    finally:
        vfs.unregister()
