"""Requests of Qdrant's REST API as objects of its engine, and answers of the engine as JSON."""

from collections.abc import Iterable
from typing import Any, cast

import qdrant_edge as edge
from qdrant_client.http import models

PLACEHOLDER_HNSW = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000}


def filter_of(asked: models.Filter | None) -> edge.Filter | None:
    if asked is None:
        return None
    return edge.Filter(
        must=_conditions(asked.must), should=_conditions(asked.should), must_not=_conditions(asked.must_not)
    )


def _conditions(asked: Any) -> list[Any] | None:
    if not asked:
        return None
    several = cast("list[Any]", asked if isinstance(asked, list) else [asked])
    return [_condition(item) for item in several]


def _condition(asked: Any) -> Any:
    match asked:
        case models.Filter():
            return filter_of(asked)
        case models.HasIdCondition():
            return edge.HasIdCondition({str(point_id) for point_id in asked.has_id})
        case models.IsEmptyCondition():
            return edge.IsEmptyCondition(asked.is_empty.key)
        case models.FieldCondition(match=None, range=models.Range() as within):
            return edge.FieldCondition(
                asked.key, range=edge.RangeFloat(gte=within.gte, gt=within.gt, lte=within.lte, lt=within.lt)
            )
        case models.FieldCondition():
            return edge.FieldCondition(asked.key, match=_match(asked.match))
        case _:
            raise ValueError(f"{type(asked).__name__} is not known here")


def _match(asked: Any) -> Any:
    match asked:
        case models.MatchValue():
            return edge.MatchValue(asked.value)
        case models.MatchAny():
            return edge.MatchAny(asked.any)
        case models.MatchText():
            return edge.MatchText(asked.text)
        case models.MatchPhrase():
            return edge.MatchPhrase(asked.phrase)
        case _:
            raise ValueError(f"{type(asked).__name__} is not known here")


def order_of(asked: models.OrderBy) -> edge.OrderBy:
    direction = edge.Direction.Desc if asked.direction == models.Direction.DESC else edge.Direction.Asc
    return edge.OrderBy(asked.key, direction)


def query_of(asked: models.QueryRequest) -> edge.QueryRequest:
    query: Any
    match asked.query.nearest if isinstance(asked.query, models.NearestQuery) else asked.query:
        case models.OrderByQuery(order_by=models.OrderBy() as order):
            query = order_of(order)
        case models.SparseVector(indices=indices, values=values):
            query = edge.Query.Nearest(edge.SparseVector(indices, values), using=asked.using)
        case list() as vector:
            query = edge.Query.Nearest(vector, using=asked.using)  # pyright: ignore[reportArgumentType]
        case _:
            raise ValueError("this query is not known here")
    return edge.QueryRequest(
        limit=asked.limit or 10,
        offset=asked.offset,
        query=query,
        filter=filter_of(asked.filter),
        with_payload=asked.with_payload,  # pyright: ignore[reportArgumentType]
        with_vector=asked.with_vector or False,
        params=_search_params(asked.params),
    )


def _search_params(asked: models.SearchParams | None) -> edge.SearchParams | None:
    if asked is None:
        return None
    small = asked.quantization
    return edge.SearchParams(
        hnsw_ef=asked.hnsw_ef,
        exact=asked.exact or False,
        quantization=edge.QuantizationSearchParams(rescore=small.rescore, oversampling=small.oversampling)
        if small
        else None,
    )


def points_of(asked: Iterable[models.PointStruct]) -> list[edge.Point]:
    return [edge.Point(str(point.id), _vectors(point.vector), point.payload) for point in asked]


def _vectors(asked: Any) -> dict[str, Any]:
    return {
        name: edge.SparseVector(vector.indices, vector.values) if isinstance(vector, models.SparseVector) else vector
        for name, vector in asked.items()
    }


MODES = {
    models.UpdateMode.UPSERT: edge.UpdateMode.Upsert,
    models.UpdateMode.INSERT_ONLY: edge.UpdateMode.InsertOnly,
    models.UpdateMode.UPDATE_ONLY: edge.UpdateMode.UpdateOnly,
}


def upsert_of(asked: models.PointsList) -> edge.UpdateOperation:
    mode = MODES[asked.update_mode] if asked.update_mode else None
    return edge.UpdateOperation.upsert_points(points_of(asked.points), filter_of(asked.update_filter), mode)


def deletion_of(asked: models.PointIdsList | models.FilterSelector) -> edge.UpdateOperation:
    if isinstance(asked, models.FilterSelector):
        chosen = filter_of(asked.filter)
        assert chosen is not None
        return edge.UpdateOperation.delete_points_by_filter(chosen)
    return edge.UpdateOperation.delete_points([str(point_id) for point_id in asked.points])


def index_of(asked: models.CreateFieldIndex) -> edge.UpdateOperation:
    schema: Any
    match asked.field_schema:
        case models.KeywordIndexParams() as words:
            schema = edge.KeywordIndexParams(is_tenant=words.is_tenant, enable_hnsw=words.enable_hnsw)
        case models.IntegerIndexParams() as number:
            schema = edge.IntegerIndexParams(lookup=number.lookup, range=number.range, enable_hnsw=number.enable_hnsw)
        case models.TextIndexParams(tokenizer=models.TokenizerType.WHITESPACE) as text:
            schema = edge.TextIndexParams(
                tokenizer=edge.TokenizerType.Whitespace,
                lowercase=text.lowercase,
                phrase_matching=text.phrase_matching,
                on_disk=text.on_disk,
                enable_hnsw=text.enable_hnsw,
            )
        case _:
            raise ValueError("this index is not known here")
    return edge.UpdateOperation.create_field_index(asked.field_name, schema)


def config_of(asked: models.CreateCollection) -> edge.EdgeConfig:
    assert isinstance(asked.vectors, dict)
    return edge.EdgeConfig(
        vectors={name: _dense(params) for name, params in asked.vectors.items()},
        sparse_vectors={
            name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if params.modifier == "idf" else None)
            for name, params in (asked.sparse_vectors or {}).items()
        },
        on_disk_payload=asked.on_disk_payload,
    )


def _dense(asked: models.VectorParams) -> edge.EdgeVectorParams:
    assert asked.distance == models.Distance.COSINE
    several = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim) if asked.multivector_config else None
    return edge.EdgeVectorParams(
        asked.size,
        edge.Distance.Cosine,
        on_disk=asked.on_disk,
        multivector_config=several,
        quantization_config=_quantization(asked.quantization_config),
    )


def _quantization(asked: Any) -> Any:
    match asked:
        case None:
            return None
        case models.ScalarQuantization(scalar=scalar):
            return edge.ScalarQuantizationConfig(edge.ScalarType.Int8, scalar.quantile, scalar.always_ram)
        case models.BinaryQuantization(binary=binary):
            return edge.BinaryQuantizationConfig(binary.always_ram)
        case _:
            raise ValueError("this quantization is not known here")


def point_json(point: edge.ScoredPoint | edge.Record) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": str(point.id), "payload": point.payload, "vector": point.vector}
    return shown | {"version": point.version, "score": point.score} if isinstance(point, edge.ScoredPoint) else shown


def info_json(asked: models.CreateCollection, info: "edge.ShardInfo") -> dict[str, Any]:
    kinds = {"keyword", "integer", "text"}
    schema = {
        field: {
            "data_type": next(kind for kind in kinds if kind in str(index.data_type).lower()),
            "points": index.points,
        }
        for field, index in info.payload_schema.items()
    }
    params = asked.model_dump(
        mode="json",
        include={"vectors", "sparse_vectors", "shard_number", "replication_factor", "write_consistency_factor"},
        exclude_none=True,
    )
    return {
        "status": "green",
        "optimizer_status": "ok",
        "points_count": info.points_count,
        "segments_count": info.segments_count,
        "config": {
            "params": params,
            "hnsw_config": PLACEHOLDER_HNSW,
            "optimizer_config": {"default_segment_number": 1, "flush_interval_sec": 5},
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
            "metadata": asked.metadata,
        },
        "payload_schema": schema,
    }
