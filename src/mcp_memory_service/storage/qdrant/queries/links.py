"""What memories are linked with, in a few requests however many there are."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from qdrant_client import models

from ....models import LINK_KINDS, Candidate, Edge, Linked, MemoryFilter, in_document_order
from ...links import MAX_LINKS, MAX_NAMED, EdgeOf, ends_of, linked_by
from ..connection import QdrantConnection
from ..filters import any_of, passing
from ..points import CANDIDATE_FIELDS, candidate_from, edge_target, edges_from, memory_id, payload_of
from .reads import PAGE, retrieved

# Of the ends of all edges together; as many as a page of ours has memories, many times over.
MAX_ENDS = 2_000
# The most popular ones come first, and only they matter.
MAX_POPULAR = 1_000


async def linked(
    connection: QdrantConnection, content_hashes: Sequence[str], limit: int, where: MemoryFilter
) -> list[Linked]:
    namespace, asked = where.namespace, list(dict.fromkeys(content_hashes))
    # At the same time: where nothing is linked, there is nothing more to ask.
    records, by_id = await asyncio.gather(
        retrieved(connection, namespace, asked, ["content_hash", "edges", "names"]),
        _leading_to(connection, namespace, [edge_target(each, by_name=False) for each in asked]),
    )
    payloads = {payload["content_hash"]: payload for payload in map(payload_of, records)}
    targets = {
        each: [edge_target(name, by_name=True) for name in payload.get("names", ())]
        for each, payload in payloads.items()
    }
    out = {each: _links(edges_from(payload)) for each, payload in payloads.items()}
    back, popularity = await asyncio.gather(
        _leading_to(connection, namespace, [target for each in targets.values() for target in each]),
        _popularity(connection, namespace, [edge for edges in out.values() for edge in edges]),
    )
    leading = by_id | back
    edges = [
        edge
        for each in asked
        if each in payloads
        for edge in (
            *_outgoing(each, out[each], popularity),
            *_incoming(each, [edge_target(each, by_name=False), *targets[each]], leading),
        )
    ]
    if not edges:
        return []
    found_ids, found_names = await _ends(connection, *ends_of(edges), where)
    return linked_by(edges, found_ids, found_names, limit)


def _outgoing(asked: str, edges: Sequence[Edge], popularity: Mapping[str, int]) -> Iterator[EdgeOf]:
    for edge in edges if len(edges) <= MAX_LINKS else ():
        others = popularity.get(edge_target(edge.to, by_name=edge.by_name), 1)
        yield EdgeOf(asked, edge, len(edges), min(others, MAX_LINKS))


def _incoming(asked: str, targets: Sequence[str], leading: Mapping[str, Mapping[Edge, int]]) -> Iterator[EdgeOf]:
    edges = {edge: far for each in targets for edge, far in leading.get(each, {}).items() if edge.from_id != asked}
    for edge in sorted(edges, key=lambda edge: edge.key) if len(edges) <= MAX_LINKS else ():
        yield EdgeOf(asked, edge, len(edges), min(edges[edge], MAX_LINKS))


async def _leading_to(
    connection: QdrantConnection, namespace: str, targets: Sequence[str]
) -> dict[str, dict[Edge, int]]:
    """The edges to each of these, each with how many start where it does; of a hub no more than tell that it is one."""
    if not targets:
        return {}
    records, more = await _pointing(connection, namespace, targets, PAGE)
    if more is not None:
        pages = await asyncio.gather(
            *(_pointing(connection, namespace, [target], MAX_LINKS + 1) for target in dict.fromkeys(targets))
        )
        records = [record for page, _ in pages for record in page]
    found: defaultdict[str, dict[Edge, int]] = defaultdict(dict)
    wanted = set(targets)
    for record in records:
        edges = _links(edges_from(payload_of(record)))
        for edge in edges:
            target = edge_target(edge.to, by_name=edge.by_name)
            if target in wanted:
                found[target][edge] = len(edges)
    return dict(found)


async def _pointing(
    connection: QdrantConnection, namespace: str, targets: Sequence[str], limit: int
) -> tuple[list[models.Record], str | None]:
    where = passing(MemoryFilter(namespace), any_of("edge_targets", list(targets)))
    return await connection.scroll(where, ["content_hash", "edges"], limit)


async def _popularity(connection: QdrantConnection, namespace: str, edges: Sequence[Edge]) -> dict[str, int]:
    """How many memories point where each of these edges does."""
    targets = list(dict.fromkeys(edge_target(edge.to, by_name=edge.by_name) for edge in edges))
    if not targets:
        return {}
    where = passing(MemoryFilter(namespace), any_of("edge_targets", targets))
    return {str(target): n for target, n in (await connection.facet("edge_targets", where, MAX_POPULAR)).items()}


async def _ends(
    connection: QdrantConnection, ids: Sequence[str], names: Sequence[str], where: MemoryFilter
) -> tuple[dict[str, Candidate], dict[str, list[Candidate]]]:
    """The memories with these ids, and those with these names."""
    one_of: list[models.Condition] = []
    if ids:
        one_of.append(models.HasIdCondition(has_id=[memory_id(where.namespace, each) for each in ids]))
    if names:
        one_of.append(any_of("names", list(names)))
    records, _ = await connection.scroll(passing(where, one_of=one_of), [*CANDIDATE_FIELDS, "names"], MAX_ENDS)
    by_id: dict[str, Candidate] = {}
    by_name: defaultdict[str, list[Candidate]] = defaultdict(list)
    for payload in map(payload_of, records):
        candidate = candidate_from(payload, 0.0)
        by_id[candidate.content_hash] = candidate
        for name in payload.get("names", ()):
            by_name[name].append(candidate)
    return by_id, {name: sorted(called, key=in_document_order)[:MAX_NAMED] for name, called in by_name.items()}


def _links(edges: Sequence[Edge]) -> list[Edge]:
    return sorted((edge for edge in edges if edge.kind in LINK_KINDS), key=lambda edge: edge.key)
