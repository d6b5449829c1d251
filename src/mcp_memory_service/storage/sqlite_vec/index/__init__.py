"""What makes searches of a large store fast: an index derived from the rows, mapped from a file beside them.

format/ is what it is made of; build/ makes it from the rows; live/ keeps it in step with them; query/ answers from it.
"""

from .format.segment_file import index_file
from .live.lifecycle import IndexFactory, IndexOptions, LiveIndex, SearchIndex
from .query.reader import IndexReader
from .source import CODE, MEMORIES, PARTS, Part, part_of

__all__ = [
    "CODE",
    "MEMORIES",
    "PARTS",
    "IndexFactory",
    "IndexOptions",
    "IndexReader",
    "LiveIndex",
    "Part",
    "SearchIndex",
    "index_file",
    "part_of",
]
