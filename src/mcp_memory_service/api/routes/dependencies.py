"""What several routes ask for or answer with."""

from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import BaseModel

from ...access.caller import LOCAL
from ...services import MemoryService


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


async def _service(request: Request) -> MemoryService:
    """The service as the caller sees it. There is one key so far, and whoever holds it is the owner."""
    service: MemoryService = request.app.state.service
    return service.within(LOCAL.namespace)


Service = Annotated[MemoryService, Depends(_service)]
ContentHash = Annotated[str, Path(description="The id of the memory", examples=["9f86d081884c7d65..."])]
