"""The other queries: by meaning, by id, by time, and what the store knows about itself."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import numpy as np
from qdrant_client import models

from ....models import (
    Candidate,
    EmbeddedMemory,
    Memory,
    MemoryFilter,
    MemoryPage,
    MemoryScan,
    StoreStats,
    TagCount,
    Vector,
    fold_tag,
)
from ...vectors import cosines
from ..collection import Pinned
from ..connection import QdrantConnection
from ..filters import any_of, equals, every_memory, passing
from ..points import (
    CANDIDATE_FIELDS,
    DENSE,
    TAG_LIST,
    candidate_from,
    memory_from,
    memory_id,
    other_id,
    payload_of,
    short_id,
)

PAGE = 500
# With vectors: a memory of the greatest length has 155 of them, of some 8,000 characters each as they are sent.
VECTOR_PAGE = 32

MAX_SEQUENCE = 2**63 - 1

NO_VECTORS = equals("windows", 0)


async def retrieve(
    connection: QdrantConnection, query_vector: Vector, limit: int, where: MemoryFilter
) -> list[Candidate]:
    options = connection.options
    # Asked for always: the collection, not our settings, says whether its vectors have smaller copies.
    rescoring = models.QuantizationSearchParams(rescore=True, oversampling=options.oversampling)
    answer = await connection.call(
        lambda client: client.query_points(
            connection.collection,
            query=[query_vector.tolist()],
            using=DENSE,
            query_filter=passing(where),
            limit=limit,
            with_payload=CANDIDATE_FIELDS,
            search_params=models.SearchParams(hnsw_ef=options.hnsw_ef, quantization=rescoring),
            consistency=connection.read_consistency,
        )
    )
    found = [candidate_from(payload_of(point), point.score) for point in answer.points]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.content_hash))


async def adjacent(
    connection: QdrantConnection, content_hashes: Sequence[str], limit: int, where: MemoryFilter
) -> list[Candidate]:
    wanted: dict[str, set[int]] = {}
    for record in await retrieved(connection, where.namespace, content_hashes, ["session", "sequence"]):
        session, sequence = payload_of(record).get("session"), payload_of(record).get("sequence")
        if session is not None and sequence is not None:
            near = (number for number in (sequence - 1, sequence + 1) if 0 <= number <= MAX_SEQUENCE)
            wanted.setdefault(session, set()).update(near)
    if not wanted:
        return []
    places = [
        models.Filter(must=[equals("session", session), any_of("sequence", sorted(sequences))])
        for session, sequences in wanted.items()
    ]
    found = [
        candidate_from(payload_of(record), 0.0)
        async for record in scrolled(connection, passing(where, one_of=places), CANDIDATE_FIELDS)
    ]
    return sorted(found, key=lambda near: (near.session or "", near.sequence or 0, near.content_hash))[:limit]


def vectors_of(record: models.Record) -> tuple[Vector, ...]:
    """The vectors of the chunks of a memory; none if it has none yet, or if they were not asked for."""
    chunks = record.vector.get(DENSE, ()) if isinstance(record.vector, dict) else ()
    return tuple(np.array(chunk, dtype=np.float32) for chunk in chunks)


async def chunk_similarities(
    connection: QdrantConnection, query_vector: Vector, namespace: str, content_hashes: Sequence[str]
) -> dict[str, list[float]]:
    """Computed here: a server tells the nearest chunk only."""
    found: dict[str, list[float]] = {}
    for start in range(0, len(content_hashes), VECTOR_PAGE):
        part = content_hashes[start : start + VECTOR_PAGE]
        for record in await retrieved(connection, namespace, part, ["content_hash"], vectors=True):
            if vectors := vectors_of(record):
                found[payload_of(record)["content_hash"]] = cosines(query_vector, vectors)
    return found


async def all_tags(connection: QdrantConnection, namespace: str) -> list[TagCount]:
    """Every tag in the spelling that most memories have; of equally many, the one with fewer capitals."""
    spellings: dict[str, list[tuple[int, str]]] = {}
    for spelling, memories in (await connection.facet("tags", passing(MemoryFilter(namespace)))).items():
        spellings.setdefault(fold_tag(str(spelling)), []).append((memories, str(spelling)))
    counted = {
        folded: TagCount(tag=max(found)[1], memories=sum(memories for memories, _ in found))
        for folded, found in spellings.items()
    }
    return [counted[folded] for folded in sorted(counted, key=lambda tag: (-counted[tag].memories, tag))]


async def tags_version(connection: QdrantConnection, namespace: str) -> int:
    records = await connection.points([other_id(TAG_LIST, namespace)], ["version"])
    return int(payload_of(records[0])["version"]) if records else 0


async def get_many(connection: QdrantConnection, namespace: str, content_hashes: Sequence[str]) -> list[Memory]:
    records = await retrieved(connection, namespace, content_hashes, True)
    found = {memory.content_hash: memory for memory in (memory_from(payload_of(record)) for record in records)}
    return [found[content_hash] for content_hash in content_hashes if content_hash in found]


async def page_of_memories(connection: QdrantConnection, where: MemoryFilter, offset: int, limit: int) -> MemoryPage:
    """Qdrant orders by time alone: where a page begins or ends among memories of one moment, all of these are read and
    put in the order of their ids."""
    total, moments = await asyncio.gather(connection.count(passing(where)), _moments(connection, where, offset, limit))
    if not moments:
        return MemoryPage(memories=(), total=total)
    newest, oldest = moments[0], moments[-1]
    newer_than_page = models.FieldCondition(key="created_at", range=models.Range(gt=newest))
    newer, shown = await asyncio.gather(
        connection.count(passing(where, newer_than_page)), _between(connection, where, oldest, newest)
    )
    shown.sort(key=lambda candidate: (-candidate.created_at, candidate.content_hash))
    start = max(0, offset - newer)  # below 0 if something newer was stored meanwhile
    hashes = [candidate.content_hash for candidate in shown[start : start + limit]]
    return MemoryPage(memories=tuple(await get_many(connection, where.namespace, hashes)), total=total)


async def _moments(connection: QdrantConnection, where: MemoryFilter, offset: int, limit: int) -> list[int]:
    """When the memories of a page were created, newest first."""
    answer = await connection.call(
        lambda client: client.query_points(
            connection.collection,
            query=models.OrderByQuery(order_by=models.OrderBy(key="created_at", direction=models.Direction.DESC)),
            query_filter=passing(where),
            offset=offset,
            limit=limit,
            with_payload=["created_at"],
            consistency=connection.read_consistency,
        )
    )
    return [payload_of(point)["created_at"] for point in answer.points]


async def _between(connection: QdrantConnection, where: MemoryFilter, oldest: int, newest: int) -> list[Candidate]:
    moments = models.FieldCondition(key="created_at", range=models.Range(gte=oldest, lte=newest))
    return [
        candidate_from(payload_of(record), 0.0)
        async for record in scrolled(connection, passing(where, moments), CANDIDATE_FIELDS)
    ]


async def find_ids(connection: QdrantConnection, namespace: str, prefix: str, limit: int) -> list[str]:
    alike = passing(MemoryFilter(namespace), equals("found_by", short_id(prefix)))
    found = [payload_of(record)["content_hash"] async for record in scrolled(connection, alike, ["content_hash"])]
    return sorted(content_hash for content_hash in found if content_hash.startswith(prefix))[:limit]


async def namespaces(connection: QdrantConnection) -> list[str]:
    return sorted(str(name) for name in await connection.facet("namespace", every_memory()))


async def scan(connection: QdrantConnection, cursor: str | None, limit: int) -> MemoryScan:
    """In the order of their ids."""
    page = min(limit, VECTOR_PAGE)
    records, following = await connection.scroll(every_memory(), True, page, offset=cursor, vectors=True)
    return MemoryScan(tuple(map(_embedded, records)), following)


async def get_embedded(
    connection: QdrantConnection, namespace: str, content_hashes: Sequence[str]
) -> list[EmbeddedMemory]:
    found: dict[str, EmbeddedMemory] = {}
    for start in range(0, len(content_hashes), VECTOR_PAGE):
        part = content_hashes[start : start + VECTOR_PAGE]
        for record in await retrieved(connection, namespace, part, True, vectors=True):
            found[payload_of(record)["content_hash"]] = _embedded(record)
    return [found[content_hash] for content_hash in content_hashes if content_hash in found]


def _embedded(record: models.Record) -> EmbeddedMemory:
    return EmbeddedMemory(memory_from(payload_of(record)), vectors_of(record))


async def awaiting_vectors(connection: QdrantConnection, limit: int, namespace: str | None) -> list[Memory]:
    """In the order of their point ids."""
    of_whom = every_memory() if namespace is None else passing(MemoryFilter(namespace))
    waiting = scrolled(connection, models.Filter(must=[of_whom, NO_VECTORS]), True)
    found: list[Memory] = []
    async for record in waiting:
        if len(found) == limit:
            break
        found.append(memory_from(payload_of(record)))
    return found


async def store_stats(connection: QdrantConnection, namespace: str, pinned: Pinned) -> StoreStats:
    where = passing(MemoryFilter(namespace))
    memories, tags, types, chunks, oldest, newest = await asyncio.gather(
        connection.count(where),
        all_tags(connection, namespace),
        connection.facet("memory_type", where),
        connection.facet("windows", where),
        _extreme_moment(connection, where, models.Direction.ASC),
        _extreme_moment(connection, where, models.Direction.DESC),
    )
    by_type = {str(name): count for name, count in types.items()}
    if untyped := memories - sum(by_type.values()):
        by_type[""] = untyped
    vectors = sum(int(number) * count for number, count in chunks.items())
    return StoreStats(
        backend="qdrant",
        memories=memories,
        tags=len(tags),
        vectors=vectors,
        size_bytes=vectors * pinned.dimension * np.dtype(np.float32).itemsize,
        schema_version=pinned.schema_version,
        embedding_model=pinned.model_id,
        embedding_dimension=pinned.dimension,
        memories_by_type=dict(sorted(by_type.items(), key=lambda item: (-item[1], item[0]))),
        oldest=oldest,
        newest=newest,
        awaiting_vectors=chunks.get(0, 0),
    )


async def _extreme_moment(
    connection: QdrantConnection, where: models.Filter, direction: models.Direction
) -> int | None:
    records = await by_time(connection, where, ["created_at"], 1, direction)
    return payload_of(records[0])["created_at"] if records else None


async def by_time(
    connection: QdrantConnection,
    where: models.Filter,
    fields: list[str],
    limit: int,
    direction: models.Direction = models.Direction.DESC,
) -> list[models.Record]:
    """The first points that pass a filter, newest first unless told otherwise."""
    order_by = models.OrderBy(key="created_at", direction=direction)
    records, _ = await connection.scroll(where, fields, limit, order_by=order_by)
    return records


async def retrieved(
    connection: QdrantConnection,
    namespace: str,
    content_hashes: Sequence[str],
    fields: bool | list[str],
    *,
    vectors: bool = False,
) -> list[models.Record]:
    """The points of these memories, as far as they exist, in any order."""
    ids = [memory_id(namespace, content_hash) for content_hash in dict.fromkeys(content_hashes)]
    return await connection.points(ids, fields, vectors=vectors)


async def scrolled(
    connection: QdrantConnection, where: models.Filter, fields: bool | list[str], *, vectors: bool = False
) -> AsyncGenerator[models.Record, None]:
    """All points that pass a filter, page by page, in the order of their ids."""
    offset: str | None = None
    page = VECTOR_PAGE if vectors else PAGE
    while True:
        records, offset = await connection.scroll(where, fields, page, offset=offset, vectors=vectors)
        for record in records:
            yield record
        if offset is None:
            return
