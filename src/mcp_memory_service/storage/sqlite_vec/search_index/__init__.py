"""What makes searches of a large store fast: an index derived from the rows, held in memory and in a file beside them.

snapshot.py is the file; building.py makes it from the rows, in a process of its own (builder.py); tail.py holds what
has changed since; view.py is both together at one moment, and searching.py answers from it. current.py brings it up to
date, live.py keeps it ready.
"""

from .live import IndexOptions, LiveIndex, SearchIndex
from .snapshot import index_file
from .view import IndexView

__all__ = ["IndexOptions", "IndexView", "LiveIndex", "SearchIndex", "index_file"]
