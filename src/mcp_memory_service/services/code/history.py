"""What the history of a folder says of a file, if the folder has one: asked of git, which only reads."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

MAX_COMMITS = 200
"""The last that changed the file."""
MAX_FILES = 50
"""A commit that changed more says nothing of any two of them."""
MIN_TOGETHER, MIN_SHARE = 2, 0.25
"""Commits that changed both, and which part they are of those that changed the file."""
MAX_SHOWN = 10
MAX_BYTES = 4 * 1024 * 1024
TIMEOUT_SECONDS = 5.0

# Nothing that the folder configures is run, and nothing is fetched.
_FLAGS = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"),
    *("-c", "log.showSignature=false", "-c", "protocol.allow=never", "-c", "core.quotePath=false"),
    *("--no-pager", "--no-optional-locks", "--literal-pathspecs"),
)
_LOG = (
    *("log", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap"),
    *("--full-diff", "--relative", "--name-only", "-z", f"--max-count={MAX_COMMITS}", "--format=format:%x01"),
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class ChangedTogether:
    path: str
    commits: int
    """That changed both."""
    share: float
    """Which part they are of those that changed the file."""


@dataclass(frozen=True, slots=True)
class FileHistory:
    commits: int
    """That changed the file, of the last ones."""
    together: tuple[ChangedTogether, ...]
    """Most often first."""


async def file_history(root: Path, path: str) -> FileHistory | None:
    """None if the folder has no history, or none of this file, or if it takes too long to read."""
    written = await _git(root, (*_LOG, "--", path))
    return None if written is None else history_from(written, path)


def history_from(written: str, path: str) -> FileHistory | None:
    """From commits that each begin with a sign, and names that end with one."""
    commits = [set(filter(None, part.replace("\n", "").split("\0"))) for part in written.split("\x01")]
    own = [files for files in commits if path in files]
    small = [files for files in own if len(files) <= MAX_FILES]
    counts = Counter(file for files in small for file in files if file != path)
    often = [
        ChangedTogether(file, count, count / len(own))
        for file, count in counts.items()
        if count >= MIN_TOGETHER and count / len(own) >= MIN_SHARE
    ]
    often.sort(key=lambda each: (-each.commits, each.path))
    return FileHistory(len(own), tuple(often[:MAX_SHOWN])) if own else None


async def _git(root: Path, command: tuple[str, ...]) -> str | None:
    """What git says within its time and size; None if it says nothing, or is not there."""
    try:
        process = await asyncio.create_subprocess_exec(
            "git", "-C", str(root), *_FLAGS, *command,
            stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env={**_own_environment(), **_ENVIRONMENT},
        )  # fmt: skip
    except OSError:
        return None
    assert process.stdout is not None
    written = None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await process.stdout.readexactly(MAX_BYTES)  # more than that is not read
    except asyncio.IncompleteReadError as end:
        written = end.partial
    except TimeoutError:
        pass
    finally:
        if written is None:
            process.kill()
        ended = await process.wait()
    return written.decode("utf-8", "replace") if written is not None and ended == 0 else None


def _own_environment() -> dict[str, str]:
    """Without what would lead git to another repository, or have it run something."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
