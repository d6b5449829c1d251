"""Questions to the code graph."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ...schemas.code import CallsOut, ChainOut
from ...schemas.code_findings import CodeStatsOut, ImpactOut, LinkedOut
from ...schemas.code_questions import CallsIn, ChainIn, ImpactIn, LinkedIn
from .dependencies import Service, given_once, problems

router = APIRouter(prefix="/code", tags=["code"], dependencies=[Depends(given_once)])


@router.get("/callers", responses=problems(404, 409))
async def get_callers(asked: Annotated[CallsIn, Query()], service: Service) -> CallsOut:
    """Who calls a symbol, and where: nearest first, then surest. `completeness` says what there may be beside it. 409
    names the symbols that the name may mean."""
    return CallsOut.of(await service.code_graph.calls(asked.request("callers")))


@router.get("/callees", responses=problems(404, 409))
async def get_callees(asked: Annotated[CallsIn, Query()], service: Service) -> CallsOut:
    """Whom a symbol calls, and where."""
    return CallsOut.of(await service.code_graph.calls(asked.request("callees")))


@router.get("/chain", responses=problems(404, 409))
async def call_chain(asked: Annotated[ChainIn, Query()], service: Service) -> ChainOut:
    """The shortest ways of calls from one symbol to another, at most three."""
    return ChainOut.of(await service.code_graph.chain(asked.request()))


@router.get("/linked", responses=problems(404, 409))
async def memory_linked_search(asked: Annotated[LinkedIn, Query()], service: Service) -> LinkedOut:
    """A symbol, who calls it and whom it calls, and the memories, notes, decisions and errors that mention it, with
    whether it has changed since."""
    return LinkedOut.of(await service.code_graph.linked(asked.request()))


@router.get("/impact", responses=problems(404, 409))
async def impact(asked: Annotated[ImpactIn, Query()], service: Service) -> ImpactOut:
    """What a change of a symbol may touch: callers by depth, heirs, tests, what was said, files that changed with its
    own, and a risk from 0 to 100 with its parts."""
    return ImpactOut.of(await service.code_graph.impact(asked.request()))


@router.get("/stats", responses=problems())
async def call_graph_stats(service: Service) -> CodeStatsOut:
    """How much code is indexed, how far its calls are resolved, and whether it is still what the files say."""
    return CodeStatsOut.of(await service.code_graph.stats())
