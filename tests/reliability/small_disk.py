"""A disk of a few megabytes that can be filled to the last byte: memory of the system, where it may be mounted."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

BLOCK = 4096


class NoSmallDisk(Exception):
    """The message says why there is none."""


class SmallDisk:
    """What is on it besides the ballast is the business of others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def fill(self, leaving: int = 0) -> None:
        """Take all space but this, in bytes."""
        self.empty()
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while self.free - BLOCK >= leaving:
                    file.write(b"\0" * BLOCK)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def empty(self) -> None:
        """Give the space of the ballast back."""
        self._ballast.unlink(missing_ok=True)

    def clear(self) -> None:
        for entry in self.folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()


@contextmanager
def small_disk(at: Path, megabytes: int) -> Generator[SmallDisk, None, None]:
    """NoSmallDisk where this process may not mount one."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise NoSmallDisk("A small disk can only be mounted on Linux and by root.")
    at.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(at)]
    done = subprocess.run(mounting, capture_output=True, text=True, check=False)
    if done.returncode:
        at.rmdir()
        raise NoSmallDisk(f"A small disk could not be mounted: {done.stderr.strip()}")
    try:
        yield SmallDisk(at)
    finally:
        # Lazily: who still has a file open on it, because something went wrong, must not hide what went wrong.
        subprocess.run(["umount", "--lazy", str(at)], check=True)
        at.rmdir()
