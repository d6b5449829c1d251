"""The same engine behind Qdrant's gRPC API, as far as we use it; messages are translated by the client's own code."""

from typing import Any

import grpc.aio
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.grpc.collections_service_pb2_grpc import CollectionsServicer, add_CollectionsServicer_to_server
from qdrant_client.grpc.points_service_pb2_grpc import PointsServicer, add_PointsServicer_to_server
from qdrant_client.grpc.qdrant_pb2 import HealthCheckReply
from qdrant_client.grpc.qdrant_pb2_grpc import QdrantServicer, add_QdrantServicer_to_server
from qdrant_client.http import models
from starlette.concurrency import run_in_threadpool

from . import engine as actions
from .engine import Collection, Engine, Handler

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUnknownVariableType=false

UPDATED = models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


async def serve_grpc(engine: Engine, version: str, port: int) -> grpc.aio.Server:
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", 64 * 1024**2)])
    add_QdrantServicer_to_server(Root(version), server)
    add_CollectionsServicer_to_server(Collections(engine), server)
    add_PointsServicer_to_server(Points(engine), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    return server


class Root(QdrantServicer):
    def __init__(self, version: str) -> None:
        self._version = version

    async def HealthCheck(self, request: Any, context: Any) -> HealthCheckReply:  # noqa: N802
        return HealthCheckReply(title="qdrant - stand-in on qdrant-edge", version=self._version)


class Collections(CollectionsServicer):
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def CollectionExists(self, request: Any, context: Any) -> Any:  # noqa: N802
        found = self._engine.find(request.collection_name) is not None
        return wire.CollectionExistsResponse(result=wire.CollectionExists(exists=found))

    async def Get(self, request: Any, context: Any) -> Any:  # noqa: N802
        found = await _found(self._engine, request, context)
        info = models.CollectionInfo.model_validate(found.info())
        return wire.GetCollectionInfoResponse(result=RestToGrpc.convert_collection_info(info))

    async def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        asked = models.CreateCollection(
            vectors=GrpcToRest.convert_vectors_config(request.vectors_config),
            sparse_vectors=GrpcToRest.convert_sparse_vector_config(request.sparse_vectors_config),
            shard_number=request.shard_number,
            replication_factor=request.replication_factor,
            write_consistency_factor=request.write_consistency_factor,
            on_disk_payload=request.on_disk_payload,
            metadata=GrpcToRest.convert_payload(request.metadata),
        )
        if not await run_in_threadpool(self._engine.create, request.collection_name, asked):
            await context.abort(grpc.StatusCode.ALREADY_EXISTS, "Collection already exists!")
        return wire.CollectionOperationResponse(result=True)

    async def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        metadata = GrpcToRest.convert_payload(request.metadata)
        changed = await run_in_threadpool(self._engine.describe, request.collection_name, metadata)
        return wire.CollectionOperationResponse(result=changed)


class Points(PointsServicer):
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def CreateFieldIndex(self, request: Any, context: Any) -> Any:  # noqa: N802
        schema = GrpcToRest.convert_payload_schema_params(request.field_index_params)
        asked = models.CreateFieldIndex(field_name=request.field_name, field_schema=schema)
        await self._act(request, context, actions.create_index, asked)
        return _updated()

    async def Upsert(self, request: Any, context: Any) -> Any:  # noqa: N802
        asked = models.PointsList(
            points=[GrpcToRest.convert_point_struct(point) for point in request.points],
            update_mode=GrpcToRest.convert_update_mode(request.update_mode)
            if request.HasField("update_mode")
            else None,
        )
        await self._act(request, context, actions.upsert, asked)
        return _updated()

    async def UpdateBatch(self, request: Any, context: Any) -> Any:  # noqa: N802
        operations = [GrpcToRest.convert_points_update_operation(operation) for operation in request.operations]
        await self._act(request, context, actions.batch, models.UpdateOperations(operations=operations))
        return wire.UpdateBatchResponse(result=[RestToGrpc.convert_update_result(UPDATED) for _ in operations])

    async def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        chosen = GrpcToRest.convert_points_selector(request.points)
        await self._act(request, context, actions.delete, chosen)
        return _updated()

    async def SetPayload(self, request: Any, context: Any) -> Any:  # noqa: N802
        chosen = GrpcToRest.convert_points_selector(request.points_selector)
        asked = models.SetPayload(
            payload=GrpcToRest.convert_payload(request.payload),
            points=chosen.points if isinstance(chosen, models.PointIdsList) else None,
            filter=chosen.filter if isinstance(chosen, models.FilterSelector) else None,
        )
        await self._act(request, context, actions.set_payload, asked)
        return _updated()

    async def Query(self, request: Any, context: Any) -> Any:  # noqa: N802
        answer = await self._act(request, context, actions.query, GrpcToRest.convert_query_points(request))
        points = [models.ScoredPoint.model_validate(point) for point in answer["points"]]
        return wire.QueryResponse(result=[RestToGrpc.convert_scored_point(point) for point in points])

    async def Scroll(self, request: Any, context: Any) -> Any:  # noqa: N802
        asked = models.ScrollRequest(
            filter=GrpcToRest.convert_filter(request.filter),
            offset=GrpcToRest.convert_point_id(request.offset) if request.HasField("offset") else None,
            limit=request.limit,
            order_by=GrpcToRest.convert_order_by(request.order_by) if request.HasField("order_by") else None,
            **_selected(request),
        )
        answer = await self._act(request, context, actions.scroll, asked)
        following = answer["next_page_offset"]
        return wire.ScrollResponse(
            result=_records(answer["points"]),
            next_page_offset=RestToGrpc.convert_extended_point_id(following) if following else None,
        )

    async def Get(self, request: Any, context: Any) -> Any:  # noqa: N802
        ids = [GrpcToRest.convert_point_id(point_id) for point_id in request.ids]
        asked = models.PointRequest(ids=ids, **_selected(request))
        return wire.GetResponse(result=_records(await self._act(request, context, actions.retrieve, asked)))

    async def Count(self, request: Any, context: Any) -> Any:  # noqa: N802
        asked = models.CountRequest(filter=GrpcToRest.convert_filter(request.filter), exact=request.exact)
        answer = await self._act(request, context, actions.count, asked)
        return wire.CountResponse(result=wire.CountResult(count=answer["count"]))

    async def Facet(self, request: Any, context: Any) -> Any:  # noqa: N802
        asked = models.FacetRequest(
            key=request.key,
            limit=request.limit,
            exact=request.exact,
            filter=GrpcToRest.convert_filter(request.filter),
        )
        answer = await self._act(request, context, actions.facet, asked)
        hits = [models.FacetValueHit.model_validate(hit) for hit in answer["hits"]]
        return wire.FacetResponse(hits=[RestToGrpc.convert_facet_value_hit(hit) for hit in hits])

    async def _act(self, request: Any, context: Any, handler: Handler, asked: Any) -> Any:
        return await run_in_threadpool(handler, await _found(self._engine, request, context), asked)


async def _found(engine: Engine, request: Any, context: Any) -> Collection:
    found = engine.find(request.collection_name)
    if found is None:
        await context.abort(grpc.StatusCode.NOT_FOUND, "Collection doesn't exist!")
    assert found is not None
    return found


def _selected(request: Any) -> dict[str, Any]:
    vectors = request.HasField("with_vectors")
    return {
        "with_payload": GrpcToRest.convert_with_payload_selector(request.with_payload),
        "with_vector": GrpcToRest.convert_with_vectors_selector(request.with_vectors) if vectors else None,
    }


def _records(shown: list[dict[str, Any]]) -> list[Any]:
    return [RestToGrpc.convert_record(models.Record.model_validate(record)) for record in shown]


def _updated() -> Any:
    return wire.PointsOperationResponse(result=RestToGrpc.convert_update_result(UPDATED))
