"""What makes searches of a large store fast: an index derived from the rows, mapped from a file beside them.

format/ is what it is made of; build/ makes it from the rows; live/ keeps it in step with them; query/ answers from it.
"""

from .format.segment_file import index_file
from .live.lifecycle import IndexFactory, IndexOptions, LiveIndex, SearchIndex
from .query.reader import IndexReader

__all__ = ["IndexFactory", "IndexOptions", "IndexReader", "LiveIndex", "SearchIndex", "index_file"]
