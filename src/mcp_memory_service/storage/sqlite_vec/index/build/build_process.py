"""Builds the index of a store in a process of its own, so that searches go on undisturbed meanwhile.

    python -m mcp_memory_service.storage.sqlite_vec.index.build.build_process STORE SEQUENCE

SEQUENCE is the change that the index has to have at the least. Of several at once, one builds; the others wait for it
and mostly find nothing left to do. It ends with its standard input, which who started it holds open: what nobody waits
for is not built.
"""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from .....errors import StorageUnavailable
from .....private_files import open_lock_file
from ...file.connection import connect
from ...upkeep.erasure import purges
from ..format.segment_file import Unusable, index_file, read_segment_file
from ..live.segments import is_worth_rebuilding
from ..source import follows
from .build import build

try:
    import fcntl
except ModuleNotFoundError:  # Windows: two may build at once, and the last one stays
    fcntl = None

BEHIND_SEARCHES = 10
"""How nice the process is: searches come first."""
ATTEMPTS = 3


def main(store: Path, least_sequence: int) -> None:
    if hasattr(os, "nice"):
        os.nice(BEHIND_SEARCHES)
    target = index_file(store)
    with _one_at_a_time(store), closing(connect(store, read_only=True)) as connection:
        if is_current(connection, target, least_sequence):
            return
        for _ in range(ATTEMPTS):
            before = purges(connection)
            build(connection, target)
            if purges(connection) == before:
                return
            # What was purged meanwhile may be in it.
            target.unlink(missing_ok=True)
    raise StorageUnavailable("Memories are purged faster than the index is built.")


def is_current(connection: apsw.Connection, target: Path, least_sequence: int) -> bool:
    """Whether the file has all changes up to this one, and hardly anything outside of it."""
    try:
        file = read_segment_file(target)
    except Unusable:
        return False
    position, columns = file.header.position, file.columns
    # What changed while it was built is gone from it and comes to it again.
    outside = 2 * columns["changed_since"].size
    if is_worth_rebuilding(outside, columns["memory_ids"].size):
        return False
    return position.sequence >= least_sequence and follows(connection, position)


@contextmanager
def _one_at_a_time(store: Path) -> Generator[None, None, None]:
    lock = open_lock_file(store.with_name(f"{store.name}-index-lock"), owned_like=store)
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _end_with_input() -> None:
    """As by Ctrl-C, so that an unfinished file is removed."""
    os.read(0, 1)  # not by sys.stdin: its lock would be held when this process ends
    if hasattr(signal, "pthread_kill"):  # wakes the main thread also while it waits for the lock
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


if __name__ == "__main__":
    threading.Thread(target=_end_with_input, daemon=True).start()
    main(Path(sys.argv[1]), int(sys.argv[2]))
