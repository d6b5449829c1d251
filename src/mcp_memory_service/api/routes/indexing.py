"""Folders of documents: index them, say what is indexed, take them out again."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response

from ...errors import InvalidInput
from ...schemas import ForgottenOut, IndexIn, IndexStatusOut
from .dependencies import Service, problems

router = APIRouter(tags=["documents"])


@router.post("/index", responses={202: {"model": IndexStatusOut}, **problems(403, 409, 507)})
async def index(body: IndexIn, service: Service, response: Response) -> IndexStatusOut:
    """Bring a folder or a file up to date. 200 if the run is over, with what came of it in `last`; 202 if it takes
    longer than 20 seconds and goes on: `GET /index` tells how far it is, and another folder is answered 409
    `index_running` until it is over. Words can be found at once; vectors are made in the background."""
    status = await service.sources.start(body.path, dry_run=body.dry_run)
    response.status_code = 200 if status.last or status.failed else 202
    return IndexStatusOut.of(status)


@router.get("/index", responses=problems())
async def index_status(service: Service) -> IndexStatusOut:
    """What is indexed, how many memories still wait for their vectors, and what goes on."""
    return IndexStatusOut.of(await service.sources.status())


@router.delete("/index", responses=problems(409, 507))
async def forget_index(
    service: Service, path: Annotated[str, Query(description="The folder or file to take out, as an absolute path")]
) -> ForgottenOut:
    """Take a folder or a file out of the memories, whether or not it is still there. The files stay as they are."""
    if not Path(path).is_absolute():
        raise InvalidInput("path must be absolute.", reason="path_invalid", field="path")
    return ForgottenOut(documents=await service.sources.forget(Path(path)))
