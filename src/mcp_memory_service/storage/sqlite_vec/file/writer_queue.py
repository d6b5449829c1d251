"""A queue of the writers of a file, over all processes that have it open.

SQLite's own lock goes to whoever asks at the right moment: with eight busy processes one can wait for seconds. Here a
writer locks the door (`-next`), then the turn (`-turn`), and unlocks the door only when it has the turn; so a writer
that has just written cannot overtake one that waits. The kernel unlocks the files of a process that dies. SQLite's
lock still decides who writes: the queue only keeps the order. Who holds one of the files writes its number into it, so
that others can say for whom they wait.
"""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ....errors import StorageUnavailable, StoreRefused
from ....private_files import open_lock_file

try:
    import fcntl
except ModuleNotFoundError:  # Windows: writers wait by SQLite's lock alone
    fcntl = None

MIN_WAIT_SECONDS = 1.0
DOOR_SUFFIX = "-next"
TURN_SUFFIX = "-turn"
SIGNATURE_BYTES = 12
"""A process id and spaces; always as many, so that a file is not cut and lengthened for every write."""


class WriterQueue:
    """Gives one writer of a file its turn after the other."""

    def __init__(self, path: Path, timeout_seconds: float) -> None:
        self._path = path
        self._door = path.with_name(path.name + DOOR_SUFFIX)
        self._turn = path.with_name(path.name + TURN_SUFFIX)
        self._timeout_seconds = timeout_seconds
        self._abandoned: _Waiting | None = None

    @contextmanager
    def turn(self, waited_seconds: float = 0.0) -> Generator[None, None, None]:
        """Hold the turn inside the block; StorageUnavailable if it does not come in time. What a writer has waited
        elsewhere counts towards that time."""
        if fcntl is None:
            yield
            return
        waiting = self._waiting()
        try:
            waiting.require(max(self._timeout_seconds - waited_seconds, min(self._timeout_seconds, MIN_WAIT_SECONDS)))
        except StorageUnavailable:
            self._abandoned = waiting
            raise
        try:
            yield
        finally:
            waiting.leave()

    def _waiting(self) -> "_Waiting":
        """A place in the queue: the one abandoned when the time was up, if it is still held, else a new one."""
        abandoned, self._abandoned = self._abandoned, None
        if abandoned is not None and abandoned.resumed():
            return abandoned
        door = open_lock_file(self._door, owned_like=self._path)
        try:
            waiting = _Waiting(door, open_lock_file(self._turn, owned_like=self._path))
        except (OSError, StoreRefused):
            os.close(door)
            raise
        try:
            if not waiting.try_now():
                # A lock cannot be waited for with a time limit, so another thread waits.
                threading.Thread(target=waiting.wait, name="memory-turn", daemon=True).start()
        except BaseException:
            waiting.leave_queue()
            raise
        return waiting


class _Waiting:
    """The place of one writer in the queue. Each has open files of its own, and closing them unlocks them."""

    def __init__(self, door: int, turn: int) -> None:
        self._door: int | None = door
        self._turn = turn
        self._state = threading.Condition()
        self._has_turn = False
        self._given_up = False
        self._failure: OSError | None = None

    def try_now(self) -> bool:
        """Take the turn if nobody else is waiting or writing; else `wait` must follow."""
        assert fcntl is not None
        assert self._door is not None
        try:
            fcntl.flock(self._door, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self._leave_door()
        _sign(self._turn, str(os.getpid()))
        self._has_turn = True
        return True

    def wait(self) -> None:
        assert fcntl is not None
        assert self._door is not None
        failure: OSError | None = None
        try:
            fcntl.flock(self._door, fcntl.LOCK_EX)
            _sign(self._door, str(os.getpid()))
            fcntl.flock(self._turn, fcntl.LOCK_EX)
            _sign(self._turn, str(os.getpid()))
        except OSError as error:
            failure = error
        with self._state:
            self._leave_door()
            self._has_turn, self._failure = failure is None, failure
            self._state.notify()
            if self._given_up:
                self.leave()

    def resumed(self) -> bool:
        """Whether this place is still held; if its turn has come meanwhile, it was passed on."""
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
                raise StorageUnavailable(f"{self._held_by()} keeps the store from being written; try again.")

    def _held_by(self) -> str:
        """Who writes or, while nobody does, who is next and does not begin, as a process that was stopped."""
        signed = _signature(self._turn) or (self._door and _signature(self._door))
        return f"The process {signed}" if signed else "Another process"

    def leave(self) -> None:
        if self._has_turn:
            _sign(self._turn, "")
        os.close(self._turn)

    def leave_queue(self) -> None:
        self._leave_door()
        self.leave()

    def _leave_door(self) -> None:
        if self._door is not None:
            os.close(self._door)
            self._door = None


def _sign(lock: int, process: str) -> None:
    with suppress(OSError):  # on a full disk: the lock is held all the same
        os.pwrite(lock, process.ljust(SIGNATURE_BYTES).encode(), 0)


def _signature(lock: int) -> str:
    """Of who holds a lock file; empty if that is not known."""
    return os.pread(lock, SIGNATURE_BYTES, 0).decode(errors="replace").strip()
