"""Where memories come from, what they are called, and how they point at each other."""

from collections.abc import Sequence
from typing import Protocol

from ...models import Edge, EdgeKind, EmbeddedMemory, SourceOutcome


class GraphStore(Protocol):
    """An edge belongs to the memory it starts from, and goes with it, as its names do. Edges that lead to a deleted
    memory stay, and lead to it again if it comes back. Any number of ids, names or edges may be given, or none."""

    async def replace_source(
        self, namespace: str, source: str, items: Sequence[EmbeddedMemory], edges: Sequence[Edge]
    ) -> SourceOutcome:
        """Make these items all that the namespace has of a source, with these edges and no others.

        What has the id of an item already keeps its content, created_at, vectors and feedback, and takes all else from
        the item. Plain memories are left alone, whatever their source says. InvalidInput, before anything is written,
        if an item is a plain memory or of another source or namespace, or if an edge starts at none of the items;
        InvalidVector as for `store_batch`.

        In one transaction where the engine has them. Where it has none, what is new is written before what is gone is
        deleted, and after an interruption the same call completes it. Of several at once, the one that began last wins.
        """
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
