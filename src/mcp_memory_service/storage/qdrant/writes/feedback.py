"""What was learned about a corpus, as points without vectors."""

from dataclasses import asdict, replace
from uuid import uuid4

from qdrant_client import models

from ....models import Feedback, TunedWeights, Tuning
from ..connection import QdrantConnection
from ..filters import equals
from ..points import FEEDBACK, TUNING, Payload, memory_id, other_id, payload_of
from ..queries.reads import retrieved, scrolled
from .writer import rounds


async def add_feedback(connection: QdrantConnection, namespace: str, feedback: Feedback) -> bool:
    if not await retrieved(connection, namespace, [feedback.content_hash], []):
        return False
    about = memory_id(namespace, feedback.content_hash)
    payload = {"kind": FEEDBACK, "scope": namespace, "memory_id": about, **asdict(feedback)}
    point_id = other_id(FEEDBACK, about, feedback.query)
    await _upsert(connection, point_id, payload)
    if await retrieved(connection, namespace, [feedback.content_hash], []):
        return True
    # The memory was deleted meanwhile, and what was said of it may have come too late to go with it.
    await connection.call(
        lambda client: client.delete(connection.collection, models.PointIdsList(points=[point_id]), wait=True)
    )
    return False


async def all_feedback(connection: QdrantConnection, namespace: str) -> list[Feedback]:
    payloads = await _payloads(connection, FEEDBACK, namespace)
    found = [
        Feedback(payload["query"], payload["content_hash"], payload["useful"], payload["created_at"])
        for payload in payloads
    ]
    return sorted(found, key=lambda feedback: (feedback.created_at, feedback.query, feedback.content_hash))


async def save_tuning(connection: QdrantConnection, namespace: str, tuning: Tuning) -> Tuning:
    """The version after the highest there is; if somebody else takes it first, the next one."""
    token = uuid4().hex
    async for _ in rounds():
        versions = await _payloads(connection, TUNING, None)
        ours = [_tuning_from(payload) for payload in versions if payload["token"] == token]
        if ours:
            return ours[0]
        saved = replace(tuning, version=max((int(payload["version"]) for payload in versions), default=0) + 1)
        payload = {"kind": TUNING, "scope": namespace, "rolled_back": False, "token": token, **asdict(saved)}
        await _upsert(connection, other_id(TUNING, str(saved.version)), payload, models.UpdateMode.INSERT_ONLY)
    raise AssertionError("the rounds end with an error")


async def current_tuning(connection: QdrantConnection, namespace: str) -> Tuning | None:
    in_force = [
        _tuning_from(payload)
        for payload in await _payloads(connection, TUNING, namespace)
        if not payload["rolled_back"]
    ]
    return max(in_force, key=lambda tuning: tuning.version, default=None)


async def roll_back_tuning(connection: QdrantConnection, namespace: str) -> Tuning | None:
    current = await current_tuning(connection, namespace)
    if current is not None:
        await connection.call(
            lambda client: client.set_payload(
                connection.collection,
                {"rolled_back": True},
                points=[other_id(TUNING, str(current.version))],
                wait=True,
                ordering=connection.write_ordering,
            )
        )
    return current


def _tuning_from(payload: Payload) -> Tuning:
    return Tuning(
        TunedWeights(**payload["weights"]),
        created_at=payload["created_at"],
        queries=payload["queries"],
        before=payload["before"],
        after=payload["after"],
        version=payload["version"],
    )


async def _payloads(connection: QdrantConnection, kind: str, namespace: str | None) -> list[Payload]:
    """Of all points of a kind, in one namespace or in all."""
    conditions = [equals("kind", kind), *([equals("scope", namespace)] if namespace is not None else [])]
    return [payload_of(record) async for record in scrolled(connection, models.Filter(must=list(conditions)), True)]


async def _upsert(
    connection: QdrantConnection, point_id: str, payload: Payload, mode: models.UpdateMode | None = None
) -> None:
    point = models.PointStruct(id=point_id, vector={}, payload=dict(payload))
    await connection.call(
        lambda client: client.upsert(
            connection.collection,
            [point],
            update_mode=mode,
            wait=True,
            ordering=connection.write_ordering,
        )
    )
