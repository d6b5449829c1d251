"""The index as searches see it: brought up to date with the rows before it answers, or not used at all.

It is never trusted over the rows: every search first compares it with the log of changes, in the snapshot of the
database that it reads from, and takes in what is new. Where that cannot be done at once, the rows are searched instead.
"""

import threading
from collections.abc import Callable

import apsw

from ....errors import StorageUnavailable
from .contents import Contents
from .snapshot import Position
from .source import batch_of, changes_after, follows, newest_position, tokens_like
from .view import IndexView

TAKEN_IN_BY_A_SEARCH = 500
"""A search takes in so many changes itself (about 0.1 ms each); of more it leaves it to the background."""
TAKEN_IN_AT_ONCE = 2_000


class CurrentIndex:
    """`view_for` is for the threads that read; `needs_care` is called by them when there is something to do that they
    do not do themselves, with whether the rows must be searched until then."""

    def __init__(self, needs_care: Callable[[bool], None]) -> None:
        self._needs_care = needs_care
        self.contents: Contents | None = None
        self._view: IndexView | None = None
        self._taking_in = threading.Lock()

    def view_for(self, connection: apsw.Connection) -> IndexView | None:
        """The index as of the database snapshot of the connection's transaction; None if the rows must be searched.
        Must come before anything else is read in the transaction: a snapshot that is older than the index is given up
        for a new one."""
        view = self._view
        if view is None:
            return None
        newest = newest_position(connection)
        if newest == view.position:
            return view
        missed = newest.sequence - view.position.sequence
        if 0 < missed <= TAKEN_IN_BY_A_SEARCH:
            with self._taking_in:
                view = self._brought_to(connection, newest)
        else:
            view = None
        if view is None or self.is_worn:
            self._needs_care(view is None)
        return view

    @property
    def is_worn(self) -> bool:
        """Whether so much is outside of the snapshot that a new one is due."""
        return self.contents is not None and self.contents.is_worn

    @property
    def is_usable(self) -> bool:
        return self._view is not None

    def still_follows(self, connection: apsw.Connection) -> bool:
        """Whether it is an index of these rows; of nothing, if there is none yet."""
        view = self._view
        return view is None or follows(connection, view.position)

    def forget(self) -> None:
        with self._taking_in:
            self.contents = self._view = None

    def take_in_some(self, connection: apsw.Connection, contents: Contents) -> bool:
        """Whether there may be more to take in. When there is nothing, searches are answered from these contents."""
        with self._taking_in:
            if not contents.is_whole:
                self.contents = self._view = None
                raise StorageUnavailable("A change was taken into the index in part only; it is loaded again.")
            if not follows(connection, contents.position):
                raise StorageUnavailable("More has changed than the log of changes holds; the index is built again.")
            more = _take_in(connection, contents, TAKEN_IN_AT_ONCE)
            if not more:
                self.contents, self._view = contents, contents.view()
            return more

    def _brought_to(self, connection: apsw.Connection, newest: Position) -> IndexView | None:
        """For who holds the lock."""
        contents, view = self.contents, self._view
        if contents is None or view is None:
            return None
        if view.position.sequence > newest.sequence:  # another thread has taken in more than this snapshot has
            connection.execute("ROLLBACK")
            connection.execute("BEGIN")
            newest = newest_position(connection)
        if view.position == newest:
            return view
        if not follows(connection, view.position):
            return None
        try:
            _take_in(connection, contents, TAKEN_IN_BY_A_SEARCH)
        except BaseException:
            self.contents = self._view = None  # half of a change may be in it
            raise
        self._view = view = contents.view()
        return view if view.position == newest else None


def _take_in(connection: apsw.Connection, contents: Contents, most: int) -> bool:
    """Whether there may be more to take in."""
    if contents.changed_since:  # just loaded, and not in use yet
        changed, contents.changed_since = contents.changed_since[:most], contents.changed_since[most:]
        contents.apply(changed, batch_of(connection, changed), tokens_like(connection), contents.position)
        return True
    changes = changes_after(connection, contents.position, most)
    if changes:
        changed = sorted({memory_id for _, _, memory_id in changes})
        position = Position(*changes[-1][:2])
        contents.apply(changed, batch_of(connection, changed), tokens_like(connection), position)
    return len(changes) == most
