"""Names and edges of an in-memory store."""

from collections.abc import Iterable, Sequence

from ...models import Edge, EdgeKind
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
