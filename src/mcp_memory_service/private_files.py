"""Files that nobody but their owner can read, and that get their names when they are whole."""

import errno
import os
import re
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from secrets import token_hex
from typing import TextIO

from .errors import InvalidInput

PRIVATE_MODE = 0o600
FORGOTTEN_SECONDS = 86_400
"""A part this old belongs to a process that was killed."""
NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""What file systems say that have no links."""

NO_UNNAMED_FILES = frozenset({errno.EISDIR, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
"""What file systems say that have none."""


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
def unnamed_new_file(target: Path) -> Generator[TextIO, None, None]:
    """A file for text that has no name until the block ends: nothing is left of it if the process is killed. Then it is
    synced and named `target`; InvalidInput if that name is taken. Where no file can be without a name, it has one, and
    what is left of it is removed by the next one for the same target."""
    if target.exists():
        raise _exists(target)
    try:
        descriptor = os.open(target.parent, os.O_TMPFILE | os.O_RDWR, PRIVATE_MODE)
    except (AttributeError, OSError) as error:  # the former where the system knows no such files
        if isinstance(error, OSError) and error.errno not in NO_UNNAMED_FILES:
            raise
        for forgotten in target.parent.glob(f".{escape(target.name)}.*.part"):
            forgotten.unlink(missing_ok=True)
        with atomic_new_file(target) as part, part.open("w", encoding="utf-8") as out:
            yield out
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        give_to_owner_of(target.parent, descriptor)
        yield out
        out.flush()
        os.fsync(descriptor)
        try:
            # Given a folder, Python follows the link to what has no name yet.
            os.link(f"/proc/self/fd/{descriptor}", target, src_dir_fd=descriptor, follow_symlinks=True)
        except FileExistsError:
            raise _exists(target) from None
    sync_folder(target.parent)


@contextmanager
def new_private_file(beside: Path) -> Generator[Path, None, None]:
    """An empty file next to another, removed with whatever was put beside it (a journal) unless it was renamed."""
    _remove_forgotten(beside.parent)
    part = beside.with_name(f".{beside.name}.{token_hex(8)}.part")
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_MODE))
    try:
        give_to_owner_of(beside if beside.exists() else beside.parent, part)
        yield part
    finally:
        for leftover in part.parent.glob(f"{escape(part.name)}*"):
            leftover.unlink(missing_ok=True)


def create_private_file(path: Path) -> None:
    """Make an empty file and its folders unless they are there, and put their names on disk."""
    new_folders = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_MODE))
        for changed in (path, *new_folders):
            sync_folder(changed.parent)


def open_lock_file(lock: Path, owned_like: Path) -> int:
    """A descriptor of a file that is only there to be locked."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, PRIVATE_MODE)
    try:
        give_to_owner_of(owned_like, descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def make_private(file: Path) -> None:
    """Close a file to others, if it was open to them and we may."""
    if not file.exists():
        return
    status = file.stat()
    may_change = not hasattr(os, "geteuid") or os.geteuid() in {0, status.st_uid}
    if status.st_mode & 0o077 and may_change:
        file.chmod(PRIVATE_MODE)


def give_to_owner_of(file: Path, new: Path | int) -> None:
    """What root makes beside somebody's file belongs to who owns that file, or they could not use it."""
    if hasattr(os, "geteuid") and os.geteuid() == 0 and file.exists():
        status = file.stat()
        os.chown(new, status.st_uid, status.st_gid)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk: a file that is safe under a name that is lost is lost."""
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(file: Path) -> None:
    with file.open("r+b") as opened:
        os.fsync(opened.fileno())


def _exists(target: Path) -> InvalidInput:
    return InvalidInput(f"{target} exists already; name another file.", reason="file_exists", field="target")


def _remove_forgotten(folder: Path) -> None:
    """A process that was killed leaves its unfinished file behind, with memories in it. In a folder that many users
    share, those of others stay."""
    for part in folder.glob(".*.part*"):
        is_ours = re.search(r"\.[0-9a-f]{16}\.part(-journal|-wal|-shm)?$", part.name)
        with suppress(FileNotFoundError, PermissionError):
            if is_ours and time.time() - part.stat().st_mtime > FORGOTTEN_SECONDS:
                part.unlink()
