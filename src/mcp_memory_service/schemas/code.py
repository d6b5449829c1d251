"""What the code graph answers of symbols and calls."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from ..models import Certainty, EdgeKind, Freshness
from ..services.code.answers import (
    CallsAnswer,
    ChainAnswer,
    CodeSymbol,
    Completeness,
    Detail,
    Direction,
    OpenCalls,
    Related,
)
from .fields import FRESHNESS_MEANT

CertaintyField = Annotated[Certainty | None, Field(description="How sure: certain, likely, guess; null if undoubted")]


class SymbolOut(BaseModel):
    id: str
    qualified_name: str
    kind: str
    path: str = Field(description="Relative to `root`")
    root: str
    project: str
    language: str
    first_line: int
    last_line: int
    freshness: Freshness | None = Field(description=f"Whether the file still has it. {FRESHNESS_MEANT}")
    signature: str | None = Field(default=None, exclude_if=lambda value: value is None)
    content: str | None = Field(default=None, exclude_if=lambda value: value is None)

    @classmethod
    def of(cls, symbol: CodeSymbol, detail: Detail = "signatures") -> Self:
        shown = cls.model_validate(symbol, from_attributes=True)
        left_out: dict[str, Any] = {"names": {"signature": None, "content": None}, "signatures": {"content": None}}
        return shown.model_copy(update=left_out.get(detail, {}))


class CallSiteOut(BaseModel):
    kind: EdgeKind
    certainty: CertaintyField
    path: str
    lines: list[int]
    refers_to: str = Field(description="The qualified name of what stands there")


class RelatedOut(BaseModel):
    symbol: SymbolOut
    depth: int
    certainty: CertaintyField
    sites: list[CallSiteOut] = Field(description="The places from which it leads one step nearer")

    @classmethod
    def of(cls, related: Related, detail: Detail = "names") -> Self:
        sites = [CallSiteOut.model_validate(site, from_attributes=True) for site in related.sites]
        symbol = SymbolOut.of(related.symbol, detail)
        return cls(symbol=symbol, depth=related.depth, certainty=related.certainty, sites=sites)


class OpenCallsOut(BaseModel):
    """Calls by the name that were not resolved: they may be further ones."""

    sites: int
    symbols: int
    names: list[str]

    @classmethod
    def of(cls, calls: OpenCalls) -> Self:
        return cls(sites=calls.sites, symbols=calls.symbols, names=list(calls.names))


class CompletenessOut(BaseModel):
    complete: bool = Field(description="Whether all of it is shown, and nothing is open")
    open_calls: OpenCallsOut
    bounded: bool = Field(description="The walk ended at its bounds, and not where the graph does")
    not_shown: int = Field(description="Found, and left to the next page")
    left_out: int = Field(description="Less sure than was asked for, one step away")
    other_kinds: dict[str, int] = Field(description="References one step away of kinds that were not asked for")
    said: list[str] = Field(description="The same in sentences; none if it is complete")

    @classmethod
    def of(cls, found: Completeness) -> Self:
        return cls(
            complete=found.complete,
            open_calls=OpenCallsOut.of(found.open_calls),
            bounded=found.bounded,
            not_shown=found.not_shown,
            left_out=found.left_out,
            other_kinds=dict(found.other_kinds),
            said=found.said(),
        )


class CallsOut(BaseModel):
    direction: Direction
    symbols: list[SymbolOut] = Field(description="What was asked about: all definitions of the name")
    depth: int
    total: int
    recursive: bool = Field(description="Whether it leads back to itself within this depth")
    found: list[RelatedOut] = Field(description="Nearest first, then surest")
    completeness: CompletenessOut
    next_cursor: str | None = Field(description="Ask with it for the next page; null if this is the last")

    @classmethod
    def of(cls, answer: CallsAnswer) -> Self:
        return cls(
            direction=answer.direction,
            symbols=[SymbolOut.of(each) for each in answer.symbols],
            depth=answer.depth,
            total=answer.total,
            recursive=answer.recursive,
            found=[RelatedOut.of(each, answer.detail) for each in answer.found],
            completeness=CompletenessOut.of(answer.completeness),
            next_cursor=answer.next_cursor,
        )


class ChainStepOut(BaseModel):
    symbol: SymbolOut
    site: CallSiteOut | None = Field(description="Where it refers to the next one; null for the last")


class ChainOut(BaseModel):
    origin: SymbolOut
    goal: SymbolOut
    max_depth: int
    chains: list[list[ChainStepOut]] = Field(description="The shortest ways; none if there is none within max_depth")
    more: bool = Field(description="Whether there are others of the same length")
    completeness: CompletenessOut

    @classmethod
    def of(cls, answer: ChainAnswer) -> Self:
        chains = [
            [
                ChainStepOut(
                    symbol=SymbolOut.of(step.symbol, "names"),
                    site=step.site and CallSiteOut.model_validate(step.site, from_attributes=True),
                )
                for step in chain
            ]
            for chain in answer.chains
        ]
        return cls(
            origin=SymbolOut.of(answer.origin),
            goal=SymbolOut.of(answer.goal),
            max_depth=answer.max_depth,
            chains=chains,
            more=answer.more,
            completeness=CompletenessOut.of(answer.completeness),
        )
