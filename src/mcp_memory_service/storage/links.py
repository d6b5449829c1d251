"""The edges of some memories, and what is at their other ends, put together; the same for every backend."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..models import Candidate, Edge, Linked

MAX_LINKS = 100
"""A memory with more edges in one direction is a hub: it says nothing about what it is linked with."""
MAX_NAMED = 200
"""Of one name: a document has a name for all of its memories."""


class EdgeOf(NamedTuple):
    """An edge of a memory that was asked about."""

    asked: str
    edge: Edge
    degree: int
    far_degree: int
    """As `Linked` has them."""


def linked_by(
    edges: Iterable[EdgeOf], by_id: Mapping[str, Candidate], by_name: Mapping[str, Sequence[Candidate]], limit: int
) -> list[Linked]:
    """In the order of the edges. Ends that are in neither mapping are not there, or not to be found."""
    found: list[Linked] = []
    for each in edges:
        edge = each.edge
        if edge.from_id != each.asked:
            ends = (by_id[edge.from_id],) if edge.from_id in by_id else ()
        elif edge.by_name:
            ends = by_name.get(edge.to, ())
        else:
            ends = (by_id[edge.to],) if edge.to in by_id else ()
        found += [
            Linked(end, each.asked, edge, each.degree, each.far_degree)
            for end in ends
            if end.content_hash != each.asked
        ]
    return found[:limit]


def ends_of(edges: Iterable[EdgeOf]) -> tuple[list[str], list[str]]:
    """The ids and the names at the other ends, each once."""
    ids, names = dict[str, None](), dict[str, None]()
    for asked, edge, _, _ in edges:
        if edge.from_id != asked:
            ids[edge.from_id] = None
        elif edge.by_name:
            names[edge.to] = None
        else:
            ids[edge.to] = None
    return list(ids), list(names)
