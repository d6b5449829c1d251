"""Sessions, names and edges of an in-memory store."""

from collections.abc import Iterable, Iterator, Sequence

from ...models import LINK_KINDS, Candidate, Edge, EdgeKind, Linked, MemoryFilter, in_document_order
from ..links import MAX_LINKS, MAX_NAMED, EdgeOf, linked_by
from ..merging import edges_by_origin
from .contents import Contents


def add_edges(contents: Contents, namespace: str, edges: Sequence[Edge]) -> list[str]:
    by_origin = edges_by_origin(edges)
    missing = [origin for origin in by_origin if (namespace, origin) not in contents.memories]
    for origin in by_origin.keys() - set(missing):
        kept = contents.edges.setdefault((namespace, origin), {})
        kept |= {edge.key: edge for edge in by_origin[origin]}
    return sorted(missing)


def edges_from(
    contents: Contents, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind]
) -> dict[str, list[Edge]]:
    found = {each: _in_order(contents.edges.get((namespace, each), {}).values(), kinds) for each in sorted(set(ids))}
    return {each: edges for each, edges in found.items() if edges}


def edges_to(
    contents: Contents, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind]
) -> dict[str, list[Edge]]:
    everywhere = [edge for (owner, _), kept in contents.edges.items() if owner == namespace for edge in kept.values()]
    found: dict[str, list[Edge]] = {}
    for each in sorted(set(ids)):
        stored = contents.memories.get((namespace, each))
        names = set(stored.memory.names) if stored else set[str]()
        leading = [edge for edge in everywhere if (edge.to in names if edge.by_name else edge.to == each)]
        found[each] = _in_order(leading, kinds)
    return {each: edges for each, edges in found.items() if edges}


def adjacent(contents: Contents, asked: Sequence[str], limit: int, where: MemoryFilter) -> list[Candidate]:
    there = [contents.memories.get((where.namespace, each)) for each in asked]
    places = {
        (stored.memory.session, stored.memory.sequence + step)
        for stored in there
        if stored and stored.memory.session is not None and stored.memory.sequence is not None
        for step in (-1, 1)
    }
    found = [stored.candidate(0.0) for stored in contents.passing(where)]
    beside = [each for each in found if (each.session, each.sequence) in places]
    return sorted(beside, key=lambda each: (each.session or "", each.sequence or 0, each.content_hash))[:limit]


def linked(contents: Contents, asked: Sequence[str], limit: int, where: MemoryFilter) -> list[Linked]:
    namespace = where.namespace
    passing = {stored.memory.content_hash: stored for stored in contents.passing(where)}
    by_id = {each: stored.candidate(0.0) for each, stored in passing.items()}
    by_name = {
        name: sorted((by_id[each] for each in called if each in by_id), key=in_document_order)[:MAX_NAMED]
        for name, called in resolve(contents, namespace, _names_in(contents, namespace)).items()
    }
    there = [each for each in dict.fromkeys(asked) if (namespace, each) in contents.memories]
    edges = (edge for each in there for edge in _links_of(contents, namespace, each))
    return linked_by(edges, by_id, by_name, limit)


def _links_of(contents: Contents, namespace: str, asked: str) -> Iterator[EdgeOf]:
    everywhere = [edge for (owner, _), kept in contents.edges.items() if owner == namespace for edge in kept.values()]
    links = [edge for edge in everywhere if edge.kind in LINK_KINDS]
    out = edges_from(contents, namespace, [asked], LINK_KINDS).get(asked, [])
    leading = edges_to(contents, namespace, [asked], LINK_KINDS).get(asked, [])
    back = [edge for edge in leading if edge.from_id != asked]
    for edge in out if len(out) <= MAX_LINKS else ():
        same_end = {other.from_id for other in links if (other.to, other.by_name) == (edge.to, edge.by_name)}
        yield EdgeOf(asked, edge, len(out), min(len(same_end), MAX_LINKS))
    for edge in back if len(back) <= MAX_LINKS else ():
        yield EdgeOf(asked, edge, len(back), min(sum(other.from_id == edge.from_id for other in links), MAX_LINKS))


def _names_in(contents: Contents, namespace: str) -> list[str]:
    return [
        name for (owner, _), stored in contents.memories.items() if owner == namespace for name in stored.memory.names
    ]


def remove_edges_to(contents: Contents, namespaces: Sequence[str], ids: Sequence[str]) -> None:
    """Those that lead there by an id, which is a digest of a text."""
    for (owner, _), kept in contents.edges.items():
        if owner in namespaces:
            for edge in [edge for edge in kept.values() if edge.to in ids and not edge.by_name]:
                del kept[edge.key]


def resolve(contents: Contents, namespace: str, names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        called = [
            content_hash
            for (owner, content_hash), stored in contents.memories.items()
            if owner == namespace and name in stored.memory.names
        ]
        if called:
            found[name] = sorted(called)
    return found


def _in_order(edges: Iterable[Edge], kinds: Sequence[EdgeKind]) -> list[Edge]:
    return sorted((edge for edge in edges if not kinds or edge.kind in kinds), key=lambda edge: edge.key)
