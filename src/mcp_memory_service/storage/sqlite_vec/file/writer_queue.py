"""Writers take turns, over all processes that have the file open.

SQLite's own lock lets whoever asks at the right moment go first: with eight busy processes one can wait for seconds.
Here a writer waits at the door (`-next`) until it is the next one, then for its turn (`-turn`), and leaves the door
only when it has it; so who has just written cannot pass one that waits. The kernel takes a lock from a process that
dies. SQLite's lock still decides who writes: this only keeps the order.
"""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ....errors import StorageUnavailable
from ....private_files import open_lock_file

try:
    import fcntl
except ModuleNotFoundError:  # Windows: writers wait by SQLite's lock alone
    fcntl = None

MIN_WAIT_SECONDS = 1.0
DOOR_SUFFIX = "-next"
TURN_SUFFIX = "-turn"


class WriterQueue:
    """The turns of the writers of one file."""

    def __init__(self, path: Path, timeout_seconds: float) -> None:
        self._path = path
        self._door = path.with_name(path.name + DOOR_SUFFIX)
        self._turn = path.with_name(path.name + TURN_SUFFIX)
        self._timeout_seconds = timeout_seconds
        self._left_behind: _Waiting | None = None

    @contextmanager
    def turn(self, waited_seconds: float = 0.0) -> Generator[None, None, None]:
        """Hold the turn inside the block; StorageUnavailable if it does not come in time. Who has waited elsewhere
        already does not wait as long again."""
        if fcntl is None:
            yield
            return
        waiting = self._waiting()
        try:
            waiting.require(max(self._timeout_seconds - waited_seconds, min(self._timeout_seconds, MIN_WAIT_SECONDS)))
        except StorageUnavailable:
            self._left_behind = waiting
            raise
        try:
            yield
        finally:
            waiting.leave()

    def _waiting(self) -> "_Waiting":
        """A place in the queue: the one left behind when the time was up, if it is still one, else a new one."""
        left_behind, self._left_behind = self._left_behind, None
        if left_behind is not None and left_behind.taken_up_again():
            return left_behind
        door = open_lock_file(self._door, owned_like=self._path)
        try:
            waiting = _Waiting(door, open_lock_file(self._turn, owned_like=self._path))
        except OSError:
            os.close(door)
            raise
        try:
            if not waiting.at_once():
                # A lock cannot be waited for with a time limit, so another thread waits.
                threading.Thread(target=waiting.wait, name="memory-turn", daemon=True).start()
        except BaseException:
            waiting.leave_queue()
            raise
        return waiting


class _Waiting:
    """One writer on its way to its turn. Every one has open files of its own: closing them lets go of the locks."""

    def __init__(self, door: int, turn: int) -> None:
        self._door: int | None = door
        self._turn = turn
        self._state = threading.Condition()
        self._has_turn = False
        self._given_up = False
        self._failure: OSError | None = None

    def at_once(self) -> bool:
        """Whether nobody else is waiting or writing; else `wait` must follow."""
        assert fcntl is not None
        assert self._door is not None
        try:
            fcntl.flock(self._door, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self._leave_door()
        self._has_turn = True
        return True

    def wait(self) -> None:
        assert fcntl is not None
        assert self._door is not None
        failure: OSError | None = None
        try:
            fcntl.flock(self._door, fcntl.LOCK_EX)
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        except OSError as error:
            failure = error
        self._leave_door()
        with self._state:
            self._has_turn, self._failure = failure is None, failure
            self._state.notify()
            if self._given_up:
                self.leave()

    def taken_up_again(self) -> bool:
        """Whether this place in the queue is still held; if its turn has come meanwhile, it was given away."""
        with self._state:
            self._given_up = False
            return not (self._has_turn or self._failure)

    def require(self, timeout_seconds: float) -> None:
        with self._state:
            self._state.wait_for(lambda: self._has_turn or self._failure, timeout_seconds)
            if self._failure:
                self.leave()
                raise self._failure
            self._given_up = not self._has_turn
        if self._given_up:
            raise StorageUnavailable("Another process keeps the store from being written; try again.")

    def leave(self) -> None:
        os.close(self._turn)

    def leave_queue(self) -> None:
        self._leave_door()
        self.leave()

    def _leave_door(self) -> None:
        if self._door is not None:
            os.close(self._door)
            self._door = None
