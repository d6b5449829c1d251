"""Files that nobody but their owner can read, and that get their names when they are whole."""

import errno
import os
import re
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from secrets import token_hex

from .errors import InvalidInput, StoreRefused

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

PRIVATE_MODE = 0o600
FORGOTTEN_SECONDS = 86_400
"""A part this old belongs to a process that was killed."""
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag
LOCK_SUFFIX = "-lock"
NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""What file systems say that have no links."""
_UNFINISHED = re.compile(rf"(\..*\.[0-9a-f]{{16}}\.part)(-journal|-wal|-shm|{LOCK_SUFFIX})?")


@contextmanager
def atomic_new_file(target: Path) -> Generator[Path, None, None]:
    """An empty file to fill, which is synced and named `target` when the block ends; InvalidInput if that name is
    taken."""
    if target.exists():
        raise _exists(target)
    with new_private_file(target) as part:
        yield part
        _sync(part)
        try:
            os.link(part, target)
        except FileExistsError:
            raise _exists(target) from None
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            part.rename(target)
        sync_folder(target.parent)


@contextmanager
def new_private_file(beside: Path) -> Generator[Path, None, None]:
    """An empty file next to another, removed with whatever was put beside it (a journal) unless it was renamed."""
    remove_abandoned(beside.parent)
    part = beside.with_name(f".{beside.name}.{token_hex(8)}.part")
    owner = beside if beside.exists() else beside.parent
    in_use = _locked(part.with_name(part.name + LOCK_SUFFIX))
    try:
        os.close(_created(part, owned_like=owner))
        yield part
    finally:
        os.close(in_use)
        for leftover in part.parent.glob(f"{escape(part.name)}*"):
            leftover.unlink(missing_ok=True)


def remove_abandoned(folder: Path) -> list[Path]:
    """A process that was killed leaves its unfinished file behind, with memories in it. In a folder that many users
    share, those of others stay. Returns the unfinished files that are left: somebody is writing them, or may be."""
    found: dict[Path, list[Path]] = {}
    for file in folder.glob(".*.part*"):
        ours = _UNFINISHED.fullmatch(file.name)
        if ours:
            found.setdefault(folder / ours[1], []).append(file)
    left: list[Path] = []
    for part, files in found.items():
        with suppress(FileNotFoundError, PermissionError):
            if _is_abandoned(part, files):
                for file in files:
                    file.unlink(missing_ok=True)
            elif part.exists():  # of one that was removed while it is written, the lock is left
                left.append(part)
    return left


def create_private_file(path: Path) -> None:
    """Make an empty file and its folders unless they are there, and put their names on disk."""
    new_folders = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_MODE))
        for changed in (path, *new_folders):
            sync_folder(changed.parent)


def open_lock_file(lock: Path, owned_like: Path) -> int:
    """A descriptor of a file that is only there to be locked; StoreRefused if its name is a link to another one."""
    try:
        return _created(lock, owned_like)
    except FileExistsError:
        try:
            return os.open(lock, os.O_RDWR | NO_FOLLOW)
        except OSError as error:
            if not lock.is_symlink():
                raise
            raise StoreRefused(f"{lock} is a symbolic link, which no lock of ours is: remove it.") from error


def make_private(file: Path) -> None:
    """Close a file to others, if it was open to them and we may; what a link leads to stays as it is."""
    if file.is_symlink() or not file.exists():
        return
    status = file.stat()
    may_change = not hasattr(os, "geteuid") or os.geteuid() in {0, status.st_uid}
    if status.st_mode & 0o077 and may_change:
        file.chmod(PRIVATE_MODE)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk: a file that is safe under a name that is lost is lost."""
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _created(file: Path, owned_like: Path) -> int:
    """A descriptor of a file that was not there. What root makes beside somebody's file belongs to who owns that file,
    or they could not use it; what was there already is given to nobody."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_MODE)
    try:
        if hasattr(os, "geteuid") and os.geteuid() == 0 and owned_like.exists():
            status = owned_like.stat()
            os.chown(descriptor, status.st_uid, status.st_gid)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _sync(file: Path) -> None:
    with file.open("r+b") as opened:
        os.fsync(opened.fileno())


def _exists(target: Path) -> InvalidInput:
    return InvalidInput(f"{target} exists already; name another file.", reason="file_exists", field="target")


def _locked(lock: Path) -> int:
    """A new file that is locked for as long as its descriptor is open, and so tells whether its process lives."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_MODE)
    if fcntl is not None:
        with suppress(OSError):  # no locks on this file system: its age tells
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _is_abandoned(part: Path, files: Sequence[Path]) -> bool:
    """By its lock, or by its age where there is none: of an earlier version, or on a file system without locks."""
    lock = part.with_name(part.name + LOCK_SUFFIX)
    if fcntl is not None and lock in files:
        descriptor = os.open(lock, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
        else:
            return True
        finally:
            os.close(descriptor)
    return time.time() - max(file.lstat().st_mtime for file in files) > FORGOTTEN_SECONDS
