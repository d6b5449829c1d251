"""What several routes ask for or answer with."""

from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import BaseModel

from ...access.authentication import MISSING
from ...access.doors import DOORS, admitted
from ...errors import NotAuthenticated
from ...models import DEFAULT_NAMESPACE
from ...services import MemoryService
from ..security import caller_of


class Problem(BaseModel):
    """RFC 9457; `code` is stable, `detail` is for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[dict[str, str]] | None = None


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route beside those that every route has, which `api/openapi.py` adds."""
    return {status: {"model": Problem} for status in (*statuses, 422)}


async def admit(request: Request) -> str:
    """The namespace in which the caller may use this route. Every route is behind it."""
    caller, door = caller_of(request.scope), f"{request.method} {request.scope['route'].path}"
    if caller is not None:
        return admitted(caller, door, request.headers.get("x-namespace"))
    if DOORS[door].scope is not None:
        raise NotAuthenticated(MISSING)
    return DEFAULT_NAMESPACE


async def _service(request: Request, namespace: Annotated[str, Depends(admit)]) -> MemoryService:
    """The service as the caller sees it."""
    service: MemoryService = request.app.state.service
    caller = caller_of(request.scope)
    inside = service.within(namespace)
    return inside if caller is None else inside.held_to(caller.tags, caller.max_memories)


Service = Annotated[MemoryService, Depends(_service)]
ContentHash = Annotated[str, Path(description="The id of the memory", examples=["9f86d081884c7d65..."])]
