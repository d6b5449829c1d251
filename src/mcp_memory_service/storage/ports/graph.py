"""Where memories come from, what they are called, and how they point at each other."""

from collections.abc import Sequence
from typing import Protocol

from ...models import Edge, EdgeKind, EmbeddedMemory, SourceOutcome, SourceRecord


class GraphStore(Protocol):
    """An edge belongs to the memory it starts from, and goes with it, as its names do. Edges that lead to a deleted
    memory stay, and lead to it again if it comes back. Any number of ids, names or edges may be given, or none."""

    async def replace_source(
        self,
        namespace: str,
        source: str,
        items: Sequence[EmbeddedMemory],
        edges: Sequence[Edge],
        record: SourceRecord | None = None,
    ) -> SourceOutcome:
        """Make these items all that the namespace has of a source, with these edges and no others, and this record all
        that is known of it; None forgets what was known.

        What has the id of an item already keeps its content, vectors and feedback, and takes all else from the item,
        the vectors as well if it has none. Plain memories are left alone, whatever their source says. InvalidInput,
        before anything is written, if an item is a plain memory or of another source or namespace, if an edge starts at
        none of the items, or if the record is of another source; InvalidVector as for `store_batch`.

        In one transaction where the engine has them. Where it has none, what is new is written before what is gone is
        deleted, and after an interruption the same call completes it: until then the record has an empty fingerprint,
        if there is or was one. Of several at once, the one that began last wins.
        """
        ...

    async def relink_source(self, namespace: str, source: str, edges: Sequence[Edge], record: SourceRecord) -> None:
        """Make these all edges that start at memories of a source, and this record all that is known of it; the
        memories stay as they are, and plain ones are left alone. InvalidInput, before anything is written, if an edge
        starts elsewhere or the record is of another source.

        In one transaction, or completed and ordered as `replace_source` is. If a replacement was interrupted before, or
        is still under way, its record stays as it is: the source is to be read again.
        """
        ...

    async def list_sources(
        self, namespace: str, scope: str | None = None, *, details: bool = True
    ) -> list[SourceRecord]:
        """The records of a namespace, or of what is in a scope as `MemoryFilter.scope` has it, in the order of their
        sources; without details, which are then empty and cost nothing."""
        ...

    async def add_edges(self, namespace: str, edges: Sequence[Edge]) -> list[str]:
        """Keep these edges; of two with the same key the later one counts. Returns the ids that edges start from and
        that are no memories: such edges are not kept."""
        ...

    async def edges_from(
        self, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind] = ()
    ) -> dict[str, list[Edge]]:
        """The edges that start at each of these memories, in the order of their keys; no kinds mean all. Ids without
        edges are left out."""
        ...

    async def edges_to(
        self, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind] = ()
    ) -> dict[str, list[Edge]]:
        """The edges that lead to each of these memories, by its id or by one of its names, in the order of their keys;
        no kinds mean all. Ids without edges are left out. An id that is no memory has the edges that name it."""
        ...

    async def resolve(self, namespace: str, names: Sequence[str]) -> dict[str, list[str]]:
        """The ids of the memories that have each of these names, in order; names that nobody has are left out."""
        ...
