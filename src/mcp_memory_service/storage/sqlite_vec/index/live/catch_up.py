"""The index as searches see it: brought up to date with the rows before it answers, or not used at all.

It is never trusted over the rows: every search first compares it with the log of changes, in the snapshot of the
database that it reads from, and applies what is new. Where that takes too long, the rows are searched instead.
"""

import threading
from collections.abc import Callable
from typing import cast

import apsw

from .....errors import StorageUnavailable
from ...text_index import tokens_like
from ..query.reader import IndexReader
from ..source import Position, batch_of, follows, newest_position
from .segments import Segments

MAX_CHANGES_OF_A_SEARCH = 500
"""A search applies so many changes itself (about 0.1 ms each); more are left to the background."""
MAX_CHANGES_AT_ONCE = 2_000


class CurrentIndex:
    """`reader_for` is for the threads that read; `notify` is called by them when there is something to do that they do
    not do themselves, with whether the rows must be searched until then."""

    def __init__(self, notify: Callable[[bool], None]) -> None:
        self._notify = notify
        self._catching_up = threading.Lock()
        self.segments: Segments | None = None
        self.reader: IndexReader | None = None
        """As of the last change that was applied; None while there is nothing to search."""

    def reader_for(self, connection: apsw.Connection) -> IndexReader | None:
        """The index as of the database snapshot of the connection's transaction; None if the rows must be searched.
        Must come before anything else is read in the transaction: a snapshot that is older than the index is given up
        for a new one."""
        reader = self.reader
        if reader is None:
            return None
        if not reader.is_intact():
            self.forget()
            self._notify(True)
            return None
        newest = newest_position(connection)
        if newest == reader.position:
            return reader
        missed = newest.sequence - reader.position.sequence
        if 0 < missed <= MAX_CHANGES_OF_A_SEARCH:
            with self._catching_up:
                reader = self._caught_up(connection, newest)
        else:
            reader = None
        if reader is None or (self.segments is not None and self.segments.needs_rebuild):
            self._notify(reader is None)
        return reader

    def still_follows(self, connection: apsw.Connection) -> bool:
        """Whether it is an index of these rows, and whole; of nothing, if there is none yet."""
        reader = self.reader
        return reader is None or (reader.is_intact() and follows(connection, reader.position))

    def forget(self) -> None:
        with self._catching_up:
            self.segments = self.reader = None

    def apply_some(self, connection: apsw.Connection, segments: Segments) -> bool:
        """Whether there may be more changes. When there are none, searches are answered from these segments."""
        with self._catching_up:
            if not segments.is_whole:
                self.segments = self.reader = None
                raise StorageUnavailable("Only half of a change was applied to the index; it is loaded again.")
            if not follows(connection, segments.position):
                raise StorageUnavailable("More has changed than the log of changes holds; the index is built again.")
            more = _apply_changes(connection, segments, MAX_CHANGES_AT_ONCE)
            if not more:
                self.segments, self.reader = segments, segments.reader()
            return more

    def _caught_up(self, connection: apsw.Connection, newest: Position) -> IndexReader | None:
        """For who holds the lock."""
        segments, reader = self.segments, self.reader
        if segments is None or reader is None:
            return None
        if reader.position.sequence > newest.sequence:  # another thread has applied more than this snapshot has
            connection.execute("ROLLBACK")
            connection.execute("BEGIN")
            newest = newest_position(connection)
        if reader.position == newest:
            return reader
        if not follows(connection, reader.position):
            return None
        try:
            _apply_changes(connection, segments, MAX_CHANGES_OF_A_SEARCH)
        except BaseException:
            self.segments = self.reader = None  # half of a change may be in it
            raise
        self.reader = reader = segments.reader()
        return reader if reader.position == newest else None


def _apply_changes(connection: apsw.Connection, segments: Segments, most: int) -> bool:
    """Whether there may be more."""
    if segments.changed_since:  # just loaded, and not in use yet
        changed, segments.changed_since = segments.changed_since[:most], segments.changed_since[most:]
        segments.apply(changed, batch_of(connection, changed), tokens_like(connection), segments.position)
        return True
    changes = connection.execute(
        "SELECT sequence, mark, memory_id FROM changes WHERE sequence > ? ORDER BY sequence LIMIT ?",
        (segments.position.sequence, most),
    ).fetchall()
    if changes:
        logged = cast("list[tuple[int, int, int]]", changes)
        changed = sorted({memory_id for _, _, memory_id in logged})
        position = Position(*logged[-1][:2])
        segments.apply(changed, batch_of(connection, changed), tokens_like(connection), position)
    return len(changes) == most
