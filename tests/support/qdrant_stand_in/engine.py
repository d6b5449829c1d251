"""Collections in folders, each one shard of Qdrant's engine."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

import qdrant_edge as edge
from qdrant_client.http import models

from . import shapes


class Collection:
    """One writer at a time, as in a shard of the server."""

    def __init__(self, asked: models.CreateCollection, shard: edge.EdgeShard) -> None:
        self.asked = asked
        self.shard = shard
        self._writing = Lock()

    def update(self, operations: Sequence[edge.UpdateOperation]) -> None:
        for operation in operations:
            with self._writing:
                self.shard.update(operation)

    def info(self) -> dict[str, Any]:
        return shapes.info_json(self.asked, self.shard.info())


class Engine:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._collections: dict[str, Collection] = {}
        self._changing = Lock()
        for description in folder.glob("*/collection.json"):
            asked = models.CreateCollection.model_validate_json(description.read_text())
            shard = edge.EdgeShard.load(str(description.parent / "shard"))
            self._collections[description.parent.name] = Collection(asked, shard)

    def find(self, name: str) -> Collection | None:
        return self._collections.get(name)

    def create(self, name: str, asked: models.CreateCollection) -> bool:
        """False if there is one of this name."""
        with self._changing:
            if name in self._collections:
                return False
            folder = self._folder / name
            (folder / "shard").mkdir(parents=True)
            shard = edge.EdgeShard.create(str(folder / "shard"), shapes.config_of(asked))
            (folder / "collection.json").write_text(asked.model_dump_json(exclude_none=True))
            self._collections[name] = Collection(asked, shard)
            return True

    def describe(self, name: str, metadata: dict[str, Any]) -> bool:
        """Change what a collection says of itself; False if there is none."""
        with self._changing:
            found = self._collections.get(name)
            if found is None:
                return False
            found.asked.metadata = {**(found.asked.metadata or {}), **metadata}
            (self._folder / name / "collection.json").write_text(found.asked.model_dump_json(exclude_none=True))
            return True

    def drop(self, name: str) -> bool:
        with self._changing:
            dropped = self._collections.pop(name, None)
            if dropped is None:
                return False
            dropped.shard.close()
            (self._folder / name / "collection.json").unlink()
            (self._folder / name).rename(self._folder / f".dropped-{uuid4().hex}")
            return True

    def close(self) -> None:
        for collection in self._collections.values():
            collection.shard.close()


Handler = Callable[[Collection, Any], Any]


def query(collection: Collection, asked: models.QueryRequest) -> dict[str, Any]:
    return {"points": [shapes.point_json(point) for point in collection.shard.query(shapes.query_of(asked))]}


def scroll(collection: Collection, asked: models.ScrollRequest) -> dict[str, Any]:
    order = asked.order_by if isinstance(asked.order_by, models.OrderBy) else None
    records, following = collection.shard.scroll(
        edge.ScrollRequest(
            offset=str(asked.offset) if asked.offset is not None else None,
            limit=asked.limit or 10,
            filter=shapes.filter_of(asked.filter),
            with_payload=asked.with_payload,  # pyright: ignore[reportArgumentType]
            with_vector=asked.with_vector or False,
            order_by=shapes.order_of(order) if order else None,
        )
    )
    shown = [shapes.point_json(record) for record in records]
    return {"points": shown, "next_page_offset": str(following) if following is not None else None}


def retrieve(collection: Collection, asked: models.PointRequest) -> list[dict[str, Any]]:
    ids: list[Any] = [str(point_id) for point_id in asked.ids]
    with_payload: Any = asked.with_payload if asked.with_payload is not None else True
    records = collection.shard.retrieve(ids, with_payload, asked.with_vector or False)
    return [shapes.point_json(record) for record in records]


def count(collection: Collection, asked: models.CountRequest) -> dict[str, int]:
    exact = asked.exact is not False
    return {"count": collection.shard.count(edge.CountRequest(exact, shapes.filter_of(asked.filter)))}


def facet(collection: Collection, asked: models.FacetRequest) -> dict[str, Any]:
    found = collection.shard.facet(
        edge.FacetRequest(asked.key, asked.limit or 10, asked.exact or False, shapes.filter_of(asked.filter))
    )
    return {"hits": [{"value": hit.value, "count": hit.count} for hit in found.hits]}


def upsert(collection: Collection, asked: models.PointsList) -> dict[str, Any]:
    collection.update([shapes.upsert_of(asked)])
    return _completed()


def delete(collection: Collection, asked: models.PointIdsList) -> dict[str, Any]:
    collection.update([shapes.deletion_of(asked)])
    return _completed()


def set_payload(collection: Collection, asked: models.SetPayload) -> dict[str, Any]:
    if chosen := shapes.filter_of(asked.filter):
        collection.update([edge.UpdateOperation.set_payload_by_filter(chosen, asked.payload)])
    else:
        ids: list[Any] = [str(point_id) for point_id in asked.points or []]
        collection.update([edge.UpdateOperation.set_payload(ids, asked.payload)])
    return _completed()


def delete_payload(collection: Collection, asked: models.DeletePayload) -> dict[str, Any]:
    ids: list[Any] = [str(point_id) for point_id in asked.points or []]
    collection.update([edge.UpdateOperation.delete_payload(ids, asked.keys)])
    return _completed()


def create_index(collection: Collection, asked: models.CreateFieldIndex) -> dict[str, Any]:
    collection.update([shapes.index_of(asked)])
    return _completed()


def batch(collection: Collection, asked: models.UpdateOperations) -> list[dict[str, Any]]:
    for operation in asked.operations:
        match operation:
            case models.UpsertOperation(upsert=models.PointsList() as points):
                collection.update([shapes.upsert_of(points)])
            case models.DeleteOperation(delete=models.PointIdsList() | models.FilterSelector() as chosen):
                collection.update([shapes.deletion_of(chosen)])
            case models.SetPayloadOperation(set_payload=payload):
                set_payload(collection, payload)
            case _:
                raise ValueError(f"{type(operation).__name__} is not known here")
    return [_completed() for _ in asked.operations]


def optimize(collection: Collection, _asked: None) -> bool:
    """Not part of Qdrant's API, where it happens by itself."""
    return collection.shard.optimize()


def _completed() -> dict[str, Any]:
    return {"operation_id": 0, "status": "completed"}
