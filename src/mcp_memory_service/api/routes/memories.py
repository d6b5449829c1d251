"""Memories, one by one and in lists: store, read, change, delete."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from ...errors import InvalidInput
from ...schemas import (
    BatchIn,
    BatchOut,
    ListIn,
    ListOut,
    MemoryIn,
    MemoryOut,
    PatchIn,
    PurgedOut,
    PurgeIn,
    StoredOut,
    TagsOut,
    shortened,
)
from .dependencies import ContentHash, Service, problems

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Any 1 to 200 printable ASCII characters, such as a new UUID: with it, a request whose outcome is"
        " not known can be sent again for 24 hours",
        examples=["1c9a4a3e-2f0b-4d5c-9a55-0e8c5f1d7b21"],
    ),
]

router = APIRouter(tags=["memories"])


@router.post("/memories", status_code=201, responses={200: {"model": StoredOut}, **problems(507)})
async def store_memory(body: MemoryIn, service: Service, response: Response) -> StoredOut:
    """Remember a text. 201 if it is new; 200 if the same text was there and tags and metadata were united. It
    needs no `Idempotency-Key`: sent again, the same text is the same memory."""
    outcome = await service.store_memory(body.draft())
    response.status_code = 201 if outcome.created else 200
    return StoredOut.of(outcome)


@router.post("/memories/batch", responses=problems(507))
async def store_batch(body: BatchIn, service: Service) -> BatchOut:
    """Remember many texts: if one is refused, none is stored. On SQLite this is one transaction. If a Qdrant server
    fails half-way, the answer is 503 `batch_incomplete`, and `errors` names the memories that are not known to be
    stored; sending all of them again is safe."""
    outcomes = await service.store_batch([memory.draft() for memory in body.memories])
    return BatchOut(results=[StoredOut.of(outcome) for outcome in outcomes])


@router.post("/memories/purge", responses=problems(507))
async def purge_memories(body: PurgeIn, service: Service) -> PurgedOut:
    """Delete memories with all their versions, also from history and trash, so that their bytes are gone from the files
    of the store, log included, and with them those of everything deleted before. The SQLite file is rewritten for it,
    so writes wait. `pending` if a reader still holds the log (the next write finishes it) or there is no room to
    rewrite the file, and always on Qdrant, which erases in its own time. Backups and other copies are not touched.
    Memories that are not there are named, and no error."""
    return PurgedOut.of(await service.purge_memories(body.content_hashes))


async def _given_once(request: Request) -> None:
    """Of a parameter that is given twice one would be ignored, and nobody could tell which."""
    names = [name for name, _ in request.query_params.multi_items() if name not in {"tags", "types", "kinds"}]
    for name in set(names):
        if names.count(name) > 1:
            raise InvalidInput(
                f"{shortened(name)} is given more than once.", reason="parameter_repeated", field=shortened(name)
            )


@router.get("/memories", responses=problems(), dependencies=[Depends(_given_once)])
async def list_memories(asked: Annotated[ListIn, Query()], service: Service) -> ListOut:
    """All memories that pass the filters, newest first. Of a content over 4,000 characters come the first 1,500, unless
    `full` is true."""
    return ListOut.of(await service.list_memories(asked.request()), full=asked.full)


@router.get("/memories/{content_hash}", responses=problems(404, 409))
async def get_memory(content_hash: ContentHash, service: Service) -> MemoryOut:
    """One memory, whole. The id of an earlier version gives the one that holds now."""
    return MemoryOut.of(await service.get_memory(content_hash))


@router.patch("/memories/{content_hash}", responses=problems(404, 409, 507))
async def update_memory(
    content_hash: ContentHash, body: PatchIn, service: Service, idempotency_key: IdempotencyKey = None
) -> MemoryOut:
    """Change a memory. A new `content` makes a new version with an id of its own: it keeps created_at, tags, metadata,
    links and feedback, the old id leads to it, and the old text stays in the history. Sent again with the same
    `Idempotency-Key` it changes nothing and answers with the memory as it is by then."""
    return MemoryOut.of(await service.update_memory(content_hash, body.patch(), idempotency_key))


@router.delete("/memories/{content_hash}", status_code=204, responses=problems(404, 409, 507))
async def delete_memory(content_hash: ContentHash, service: Service, idempotency_key: IdempotencyKey = None) -> None:
    """Put a memory into the trash, from which it can be restored for `MCP_MEMORY_TRASH_DAYS` days; with 0 it is gone at
    once. Sent again with the same `Idempotency-Key` it answers as the first time, and leaves a memory alone that was
    stored anew meanwhile."""
    await service.delete_memory(content_hash, idempotency_key)


@router.get("/tags", responses=problems())
async def list_tags(service: Service) -> TagsOut:
    """Every tag in use, most used first."""
    return TagsOut.of(await service.list_tags())
