"""Installs a lock file with pip and says how far it is; the Makefile runs it.

pip by itself is silent for a minute, or prints four lines for each package.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

PIN = re.compile(r"^[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?==", re.MULTILINE)
LOOKED_AT = re.compile(r"(?:Collecting|Ignoring|Requirement already satisfied:) ([\w.-]+)")
UNPACKING = "Installing collected packages"


def progress(lines: Iterable[str], total: int) -> Iterator[str]:
    """What to say after lines of pip: which package it fetches, and that it unpacks them."""
    done = 0
    for line in lines:
        if found := LOOKED_AT.match(line):
            done += 1
            yield f"  fetching {done}/{total}: {found[1]}"
        elif line.startswith(UNPACKING):
            yield "  unpacking"


def install(lock: Path) -> int:
    total = len(PIN.findall(lock.read_text()))
    print(f"Installing the {total} packages of {lock} into {Path(sys.prefix).name}", flush=True)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off"]
    pip = subprocess.Popen(  # noqa: S603
        [*command, "--require-hashes", "-r", str(lock)], stdout=subprocess.PIPE, text=True
    )
    assert pip.stdout is not None
    for said in progress(pip.stdout, total):
        if sys.stdout.isatty():  # one line that is written over; a log has the line above
            print(f"\r\x1b[K{said}", end="", flush=True)
    if sys.stdout.isatty():
        print("\r\x1b[K", end="", flush=True)
    return pip.wait()


if __name__ == "__main__":
    raise SystemExit(install(Path(sys.argv[1])))
