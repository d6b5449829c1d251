"""Names and edges, read from the payloads of the memories that have them."""

from collections.abc import AsyncGenerator, Iterator, Sequence

from qdrant_client import models

from ....models import Edge, EdgeKind, MemoryFilter
from ...merging import edges_by_origin
from ..connection import QdrantConnection
from ..filters import any_of, passing
from ..points import edge_target, edges_from, payload_of
from .reads import PAGE, retrieved, scrolled


async def outgoing(
    connection: QdrantConnection, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind]
) -> dict[str, list[Edge]]:
    found: list[Edge] = []
    for part in parts_of(ids):
        for record in await retrieved(connection, namespace, part, ["content_hash", "edges"]):
            found += _of_kinds(edges_from(payload_of(record)), kinds)
    return edges_by_origin(found)


async def incoming(
    connection: QdrantConnection, namespace: str, ids: Sequence[str], kinds: Sequence[EdgeKind]
) -> dict[str, list[Edge]]:
    asked_by: dict[str, list[str]] = {edge_target(each, by_name=False): [each] for each in ids}
    for part in parts_of(ids):
        for record in await retrieved(connection, namespace, part, ["content_hash", "names"]):
            payload = payload_of(record)
            for name in payload.get("names", ()):
                asked_by.setdefault(edge_target(name, by_name=True), []).append(payload["content_hash"])
    found: dict[str, set[Edge]] = {}
    async for record in _having(connection, namespace, "edge_targets", list(asked_by), ["content_hash", "edges"]):
        for edge in _of_kinds(edges_from(payload_of(record)), kinds):
            for asked in asked_by.get(edge_target(edge.to, by_name=edge.by_name), ()):
                found.setdefault(asked, set()).add(edge)
    return {asked: sorted(edges, key=lambda edge: edge.key) for asked, edges in sorted(found.items())}


async def resolve(connection: QdrantConnection, namespace: str, names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    wanted = set(names)
    async for record in _having(connection, namespace, "names", names, ["content_hash", "names"]):
        payload = payload_of(record)
        for name in wanted & set(payload["names"]):
            found.setdefault(name, set()).add(payload["content_hash"])
    return {name: sorted(found[name]) for name in sorted(found)}


async def _having(
    connection: QdrantConnection, namespace: str, field: str, values: Sequence[str], fields: list[str]
) -> AsyncGenerator[models.Record, None]:
    """The memories with any of these values; one with several of them may come several times."""
    for part in parts_of(values):
        async for record in scrolled(connection, passing(MemoryFilter(namespace), any_of(field, part)), fields):
            yield record


def parts_of(texts: Sequence[str]) -> Iterator[list[str]]:
    """Each once, as many as one request may name."""
    each_once = list(dict.fromkeys(texts))
    for start in range(0, len(each_once), PAGE):
        yield each_once[start : start + PAGE]


def _of_kinds(edges: Sequence[Edge], kinds: Sequence[EdgeKind]) -> list[Edge]:
    return [edge for edge in edges if not kinds or edge.kind in kinds]
