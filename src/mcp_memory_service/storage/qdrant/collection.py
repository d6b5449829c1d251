"""The collection and its indexes: made on first use, versioned, and refused if it is not what we expect."""

from dataclasses import dataclass, replace
from typing import Any, cast

import grpc
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from ...errors import ConfigurationError, EmbeddingMismatch, EngineTooOld, SchemaTooNew, StoreCorrupt
from ...product_names import DISTRIBUTION
from .connection import QdrantConnection
from .options import CollectionLayout
from .points import DENSE, TAGS, TERMS

SCHEMA_VERSION = 4
METADATA_KEY = "mcp_memory"

# Upserts that only insert, or only update what is as we saw it, are known since 1.17.
MIN_QDRANT_VERSION = (1, 17, 0)


def _words(*, filtered: bool, tenant: bool | None = None) -> models.KeywordIndexParams:
    """`filtered`: whether searches by vector are filtered by it; only then is it worth links of its own in their graph,
    which make building that graph several times as slow."""
    return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=tenant, enable_hnsw=filtered)


def _number(*, filtered: bool) -> models.IntegerIndexParams:
    return models.IntegerIndexParams(
        type=models.IntegerIndexType.INTEGER, lookup=True, range=True, enable_hnsw=filtered
    )


INDEXES: dict[str, models.PayloadSchemaParams] = {
    "namespace": _words(filtered=True, tenant=True),
    **dict.fromkeys(("tag_keys", "memory_type", "memory_kind", "source_prefixes"), _words(filtered=True)),
    "created_at": _number(filtered=True),
    # To find points by, to count them and to list their values.
    **dict.fromkeys(
        ("kind", "content_hash", "tags", "session", "scope", "memory_id", "source", "names", "edge_targets"),
        _words(filtered=False),
    ),
    # What few memories have in common: those are compared one by one.
    "found_by": _words(filtered=False),
    # Most memories have none of these.
    **dict.fromkeys(("expires_at", "edited_at", "ended_at"), _number(filtered=False)),
    # `windows` is how many chunks a memory has; named so since version 1.
    **dict.fromkeys(("sequence", "length", "windows", "generation"), _number(filtered=False)),
    # For phrases, and to count how many memories have a word. The words are ours: nothing is changed about them.
    "terms": models.TextIndexParams(
        type=models.TextIndexType.TEXT,
        tokenizer=models.TokenizerType.WHITESPACE,
        lowercase=False,
        phrase_matching=True,
        on_disk=True,
        enable_hnsw=False,
    ),
}


@dataclass(frozen=True, slots=True)
class Pinned:
    """What the vectors of a collection were made with."""

    model_id: str
    dimension: int
    schema_version: int


async def open_collection(connection: QdrantConnection, model_id: str, dimension: int | None) -> Pinned:
    """Make the collection if it is missing, check that its vectors are of this model, and complete its indexes."""
    await _require_usable_server(connection)
    info = await _described(connection)
    if info is None:
        if dimension is None:
            raise ConfigurationError(
                f"A new Qdrant collection needs to know how long the vectors of {model_id!r} are:"
                " set MCP_MEMORY_EMBEDDING_DIMENSION."
            )
        await _create(connection, model_id, dimension)
        info = await _described(connection)
        assert info is not None, "it was made, or somebody else made it first"
    pinned = _pinned(connection.collection, info)
    _require_same_embedding(pinned, model_id, dimension)
    await _complete_indexes(connection, info)
    return pinned


async def pinned_embedding(connection: QdrantConnection) -> Pinned | None:
    """What an existing collection was made with; None if there is none."""
    await _require_usable_server(connection)
    info = await _described(connection)
    return _pinned(connection.collection, info) if info else None


async def _require_usable_server(connection: QdrantConnection) -> None:
    version = (await connection.call(lambda client: client.info())).version
    numbers = tuple(int(part) for part in version.split("-")[0].split(".") if part.isdigit())
    if numbers < MIN_QDRANT_VERSION:
        wanted = ".".join(map(str, MIN_QDRANT_VERSION))
        raise EngineTooOld(f"Qdrant {version} cannot update safely; {wanted} or newer is needed.")


async def _described(connection: QdrantConnection) -> models.CollectionInfo | None:
    async def describe(client: AsyncQdrantClient) -> models.CollectionInfo | None:
        if not await client.collection_exists(connection.collection):
            return None
        return await client.get_collection(connection.collection)

    return await connection.call(describe)


async def _create(connection: QdrantConnection, model_id: str, dimension: int) -> None:
    layout = connection.options.layout

    async def create(client: AsyncQdrantClient) -> None:
        try:
            await client.create_collection(
                connection.collection,
                vectors_config={DENSE: _dense_vectors(layout, dimension)},
                sparse_vectors_config={
                    TERMS: models.SparseVectorParams(modifier=models.Modifier.IDF),
                    TAGS: models.SparseVectorParams(),
                },
                shard_number=layout.shards,
                replication_factor=layout.replication_factor,
                write_consistency_factor=layout.write_consistency_factor,
                on_disk_payload=True,
                metadata=_metadata(model_id),
            )
        except (UnexpectedResponse, grpc.aio.AioRpcError) as error:
            if not _exists_already(error):  # if another process was first, its collection is as good as ours
                raise

    await connection.call(create)


def _metadata(model_id: str) -> dict[str, Any]:
    """Without the dimension, which is that of its vectors."""
    return {METADATA_KEY: {"schema_version": SCHEMA_VERSION, "embedding_model": model_id}}


async def note_version(connection: QdrantConnection, pinned: Pinned) -> Pinned:
    """Say that a collection is of our version from now on."""
    metadata = _metadata(pinned.model_id)
    await connection.call(lambda client: client.update_collection(connection.collection, metadata=metadata))
    return replace(pinned, schema_version=SCHEMA_VERSION)


def _exists_already(error: UnexpectedResponse | grpc.aio.AioRpcError) -> bool:
    if isinstance(error, UnexpectedResponse):
        return error.status_code == 409
    return error.code() is grpc.StatusCode.ALREADY_EXISTS


def _dense_vectors(layout: CollectionLayout, dimension: int) -> models.VectorParams:
    """A long text has a vector for each of its chunks and counts by the nearest one."""
    return models.VectorParams(
        size=dimension,
        distance=models.Distance.COSINE,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        on_disk=layout.vectors_on_disk,
        quantization_config=_quantization(layout),
    )


def _quantization(layout: CollectionLayout) -> models.QuantizationConfig | None:
    """The small copies stay in memory, whatever the vectors themselves do."""
    if layout.quantization == "scalar":
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        )
    if layout.quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _pinned(collection: str, info: models.CollectionInfo) -> Pinned:
    ours: Any = (info.config.metadata or {}).get(METADATA_KEY)
    vectors = info.config.params.vectors
    if not (isinstance(ours, dict) and isinstance(vectors, dict) and DENSE in vectors):
        raise StoreCorrupt(f"The Qdrant collection {collection!r} is one of another program; name another one.")
    made_with = cast("dict[str, Any]", ours)
    version = int(made_with["schema_version"])
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"The Qdrant collection {collection!r} has schema version {version}, this program knows {SCHEMA_VERSION}:"
            f" upgrade {DISTRIBUTION}."
        )
    return Pinned(str(made_with["embedding_model"]), vectors[DENSE].size, version)


def _require_same_embedding(pinned: Pinned, model_id: str, dimension: int | None) -> None:
    if pinned.model_id != model_id:
        raise EmbeddingMismatch(
            f"This collection was made with the embedding model {pinned.model_id!r}, but {model_id!r} is configured."
            " Vectors of different models cannot be compared: set the MCP_MEMORY_EMBEDDING_* variables back, name"
            " another collection with MCP_MEMORY_QDRANT_COLLECTION, or copy this one to another with mcp-memory"
            " migrate, which embeds it anew."
        )
    if dimension is not None and pinned.dimension != dimension:
        raise EmbeddingMismatch(
            f"This collection holds vectors of {pinned.dimension} numbers, but the configured model {model_id!r} makes"
            f" {dimension}: set MCP_MEMORY_EMBEDDING_DIMENSION={pinned.dimension} or name another collection."
        )


async def _complete_indexes(connection: QdrantConnection, info: models.CollectionInfo) -> None:
    for field, schema in INDEXES.items():
        if field not in info.payload_schema:
            await connection.call(
                lambda client, field=field, schema=schema: client.create_payload_index(
                    connection.collection, field, schema, wait=True
                )
            )
