"""Folders of code: index them, say what is indexed, take them out again."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response

from ...errors import InvalidInput
from ...schemas import CodeIndexIn, CodeIndexStatusOut, ForgottenCodeOut
from .dependencies import Service, problems

router = APIRouter(prefix="/code", tags=["code"])


@router.post("/index", responses={202: {"model": CodeIndexStatusOut}, **problems(403, 507)})
async def index_code(body: CodeIndexIn, service: Service, response: Response) -> CodeIndexStatusOut:
    """Bring the symbols of a folder or a file up to date. 200 if the run is over, with what came of it in `last`; 202
    if it takes longer than 20 seconds and goes on: `GET /code/index` tells how far it is. Symbols are found by words at
    once; vectors are made in the background."""
    status = await service.code_index.start(body.path, dry_run=body.dry_run, anew=body.full_refresh)
    response.status_code = 200 if status.last or status.failed else 202
    return CodeIndexStatusOut.of(status)


@router.get("/index", responses=problems())
async def code_index_status(service: Service) -> CodeIndexStatusOut:
    """What code is indexed, what of it was left out and why, and what goes on."""
    return CodeIndexStatusOut.of(await service.code_index.status())


@router.delete("/index", responses=problems(507))
async def forget_code(
    service: Service, path: Annotated[str, Query(description="The folder or file to take out, as an absolute path")]
) -> ForgottenCodeOut:
    """Take the symbols of a folder or a file out, whether or not it is still there. The files stay as they are."""
    if not Path(path).is_absolute():
        raise InvalidInput("path must be absolute.", reason="path_invalid", field="path")
    return ForgottenCodeOut(files=await service.code_index.forget(Path(path)))
