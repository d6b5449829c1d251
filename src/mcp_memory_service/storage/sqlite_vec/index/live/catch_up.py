"""The index as searches see it: brought up to date with the rows before it answers, or not used at all.

It is never trusted over the rows: every search first compares it with the log of changes, in the snapshot of the
database that it reads from, and takes in what is new. Where that cannot be done at once, the rows are searched instead.
"""

import threading
from collections.abc import Callable

import apsw

from .....errors import StorageUnavailable
from ..format.segment_file import Position
from ..query.reader import IndexReader
from ..source import batch_of, changes_after, follows, newest_position, tokens_like
from .segments import Segments

TAKEN_IN_BY_A_SEARCH = 500
"""A search takes in so many changes itself (about 0.1 ms each); of more it leaves it to the background."""
TAKEN_IN_AT_ONCE = 2_000


class CurrentIndex:
    """`reader_for` is for the threads that read; `needs_care` is called by them when there is something to do that they
    do not do themselves, with whether the rows must be searched until then."""

    def __init__(self, needs_care: Callable[[bool], None]) -> None:
        self._needs_care = needs_care
        self.segments: Segments | None = None
        self._reader: IndexReader | None = None
        self._taking_in = threading.Lock()

    def reader_for(self, connection: apsw.Connection) -> IndexReader | None:
        """The index as of the database snapshot of the connection's transaction; None if the rows must be searched.
        Must come before anything else is read in the transaction: a snapshot that is older than the index is given up
        for a new one."""
        reader = self._reader
        if reader is None:
            return None
        newest = newest_position(connection)
        if newest == reader.position:
            return reader
        missed = newest.sequence - reader.position.sequence
        if 0 < missed <= TAKEN_IN_BY_A_SEARCH:
            with self._taking_in:
                reader = self._brought_to(connection, newest)
        else:
            reader = None
        if reader is None or self.needs_rebuild:
            self._needs_care(reader is None)
        return reader

    @property
    def needs_rebuild(self) -> bool:
        """Whether so much is outside of the snapshot that a new one is due."""
        return self.segments is not None and self.segments.needs_rebuild

    @property
    def is_usable(self) -> bool:
        return self._reader is not None

    def still_follows(self, connection: apsw.Connection) -> bool:
        """Whether it is an index of these rows; of nothing, if there is none yet."""
        reader = self._reader
        return reader is None or follows(connection, reader.position)

    def forget(self) -> None:
        with self._taking_in:
            self.segments = self._reader = None

    def take_in_some(self, connection: apsw.Connection, segments: Segments) -> bool:
        """Whether there may be more to take in. When there is nothing, searches are answered from these segments."""
        with self._taking_in:
            if not segments.is_whole:
                self.segments = self._reader = None
                raise StorageUnavailable("A change was taken into the index in segment only; it is loaded again.")
            if not follows(connection, segments.position):
                raise StorageUnavailable("More has changed than the log of changes holds; the index is built again.")
            more = _take_in(connection, segments, TAKEN_IN_AT_ONCE)
            if not more:
                self.segments, self._reader = segments, segments.reader()
            return more

    def _brought_to(self, connection: apsw.Connection, newest: Position) -> IndexReader | None:
        """For who holds the lock."""
        segments, reader = self.segments, self._reader
        if segments is None or reader is None:
            return None
        if reader.position.sequence > newest.sequence:  # another thread has taken in more than this snapshot has
            connection.execute("ROLLBACK")
            connection.execute("BEGIN")
            newest = newest_position(connection)
        if reader.position == newest:
            return reader
        if not follows(connection, reader.position):
            return None
        try:
            _take_in(connection, segments, TAKEN_IN_BY_A_SEARCH)
        except BaseException:
            self.segments = self._reader = None  # half of a change may be in it
            raise
        self._reader = reader = segments.reader()
        return reader if reader.position == newest else None


def _take_in(connection: apsw.Connection, segments: Segments, most: int) -> bool:
    """Whether there may be more to take in."""
    if segments.changed_since:  # just loaded, and not in use yet
        changed, segments.changed_since = segments.changed_since[:most], segments.changed_since[most:]
        segments.apply(changed, batch_of(connection, changed), tokens_like(connection), segments.position)
        return True
    changes = changes_after(connection, segments.position, most)
    if changes:
        changed = sorted({memory_id for _, _, memory_id in changes})
        position = Position(*changes[-1][:2])
        segments.apply(changed, batch_of(connection, changed), tokens_like(connection), position)
    return len(changes) == most
