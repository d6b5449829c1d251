"""Whose store it is: root keeps out of those of others, and a folder that others can write to is told of."""

import logging
import os
import shlex
import stat
from functools import cache
from pathlib import Path

from ....errors import StoreRefused
from .connection import real_path

try:
    import pwd
except ModuleNotFoundError:  # Windows has no root
    pwd = None

logger = logging.getLogger(__name__)


def require_own_store(path: Path) -> None:
    """Root would follow the links of who owns the store, and leave files there that they cannot use."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    file = real_path(path)
    there = next(place for place in (file, *file.parents) if place.exists())
    owner = there.stat().st_uid
    if owner != 0:
        name = _user_name(owner)
        raise StoreRefused(
            f"{there} belongs to the user {name}, and this is root: run it as that user (sudo -u {shlex.quote(name)}"
            " mcp-memory ...), or name a store of root's own with MCP_MEMORY_SQLITE_PATH."
        )


def tell_of_shared_folder(path: Path) -> None:
    """Who can write to the folder of a store can put another file in its place."""
    _tell_once(real_path(path).parent)


@cache
def _tell_once(folder: Path) -> None:
    if os.name == "nt" or not folder.exists():
        return
    mode = folder.stat().st_mode
    # With the sticky bit, as of /tmp, nobody can replace the files of others.
    if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
        logger.warning(
            "Other users can write to %s and replace the store in it; to mend that: chmod go-w %s",
            folder,
            shlex.quote(str(folder)),
        )


def _user_name(user_id: int) -> str:
    """As sudo takes it, also for a user without a name."""
    try:
        return pwd.getpwuid(user_id).pw_name if pwd else f"#{user_id}"
    except KeyError:
        return f"#{user_id}"
