"""The files of a folder, found and opened without following anything out of it."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...indexing import Unreadable, decoded
from ...indexing.ignore import GITIGNORE, IgnoreRules, document_kind
from ...private_files import NO_FOLLOW

MAX_GITIGNORE_BYTES = 1024 * 1024
_NO_WAITING: int = getattr(os, "O_NONBLOCK", 0)  # a pipe would be waited for


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may be a document, as it was when it was looked at."""

    path: Path
    size: int
    modified_ns: int

    @property
    def source(self) -> str:
        return self.path.as_posix()


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """What is left out, and why."""

    source: str
    reason: str
    keeps_old: bool
    """Whether what was read of it before stays: it is there, and only cannot be read now."""


def why(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or type(error).__name__}"


def found_files(target: Path, root: Path, own_folder: Path | None = None) -> Iterator[FoundFile | RefusedFile]:
    """Every document at or below a target within the root, in the order of their names. Links are not followed: what
    they lead to is in the root and found there, or none of its business. The service's own folder is left out."""
    rules = _rules_above(target, root)
    if rules is None:
        yield RefusedFile(target.as_posix(), "it is ignored, or within a folder that is", keeps_old=False)
        return
    waiting = [(target, rules)] if target.is_dir() else []
    if not waiting:
        yield from _checked(target)
    while waiting:
        folder, rules = waiting.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            yield RefusedFile(folder.as_posix(), why(error), keeps_old=not isinstance(error, FileNotFoundError))
            continue
        rules = _with_gitignore(rules, folder, root)
        below: list[tuple[Path, IgnoreRules]] = []
        above = "" if folder == root else folder.relative_to(root).as_posix() + "/"
        for entry in entries:
            path = folder / entry.name
            if not is_text(entry.name):
                yield RefusedFile(ascii(path.as_posix()), "its name is not UTF-8", keeps_old=False)
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if rules.skips(above + entry.name, is_folder=is_folder) or (is_folder and path == own_folder):
                continue
            if is_folder:
                below.append((path, rules))
            elif document_kind(entry.name) is not None or _is_link_to_folder(entry):
                yield from _checked(path)
        waiting += reversed(below)


def _is_link_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:  # it leads in a circle, or to where nobody may look
        return True


def _rules_above(target: Path, root: Path) -> IgnoreRules | None:
    """Those that hold for a target; None if they leave it out."""
    rules, above = IgnoreRules(), root
    for part in target.relative_to(root).parts:
        rules = _with_gitignore(rules, above, root)
        above /= part
        if rules.skips(above.relative_to(root).as_posix(), is_folder=above.is_dir()):
            return None
    return rules


def _checked(path: Path) -> Iterator[FoundFile | RefusedFile]:
    try:
        status = path.lstat()
    except OSError as error:
        yield RefusedFile(path.as_posix(), why(error), keeps_old=not isinstance(error, FileNotFoundError))
        return
    if stat.S_ISLNK(status.st_mode):
        yield RefusedFile(path.as_posix(), "it is a link, which is not followed", keeps_old=False)
    elif document_kind(path.name) is None:
        yield RefusedFile(path.as_posix(), "it is neither Markdown nor text nor PDF", keeps_old=False)
    else:
        yield FoundFile(path, status.st_size, status.st_mtime_ns)


def is_text(name: str) -> bool:
    """Whether a name is made of characters: other bytes could not be stored."""
    return name.isascii() or name == name.encode("utf-8", "replace").decode()


def bytes_of(path: Path, max_bytes: int) -> tuple[bytes, FoundFile]:
    """Of a file and nothing else, with size and date as they were when it was opened; Unreadable if it is another thing
    or too large."""
    with os.fdopen(os.open(path, os.O_RDONLY | NO_FOLLOW | _NO_WAITING), "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("it is no file")
        if not _is_at(opened.fileno(), path):
            raise Unreadable("a folder above it is a link")
        data = opened.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Unreadable(f"it is larger than {max_bytes // 1024**2} MB")
    return data, FoundFile(path, status.st_size, status.st_mtime_ns)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is where its path says: a folder may have become a link since it was looked at. Only Linux
    tells."""
    opened = Path(f"/proc/self/fd/{descriptor}")
    return not opened.is_symlink() or opened.readlink() == path


def _with_gitignore(rules: IgnoreRules, folder: Path, root: Path) -> IgnoreRules:
    try:
        data, _ = bytes_of(folder / GITIGNORE, MAX_GITIGNORE_BYTES)
        inside = folder.relative_to(root).as_posix()
        return rules.within("" if inside == "." else inside, decoded(data))
    except (OSError, Unreadable):  # most folders have none
        return rules
