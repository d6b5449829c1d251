"""Whether the file of the search index can be used; where it cannot, a service builds it anew."""

from collections.abc import Iterator
from pathlib import Path

import apsw

from ....models.upkeep import Finding
from ..index.format.segment_file import Unusable, index_file, read_segment_file
from ..index.source import follows
from ..schema import pinned_embedding


def index_warnings(connection: apsw.Connection, store: Path) -> Iterator[Finding]:
    """Of a store without one there is nothing to say: searches are answered from the rows until one is built."""
    if not index_file(store).exists():
        return
    try:
        header = read_segment_file(index_file(store)).header
    except Unusable as error:
        yield Finding("search_index_unusable", f"The search index cannot be used: {error}.")
        return
    if header.model_id != pinned_embedding(connection)[0]:
        yield Finding("search_index_foreign", "The search index is of another embedding model than the store.")
    elif not follows(connection, header.position):
        yield Finding("search_index_outdated", "The search index is of another store, or of a time long ago.")
