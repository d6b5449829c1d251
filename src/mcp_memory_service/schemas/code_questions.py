"""What is asked of the code graph."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ..models import Certainty
from ..services.code.answers import Detail, Direction, Relation
from ..services.code.questions import (
    MAX_ASKED_CHARS,
    MAX_CHAIN_DEPTH,
    MAX_DEPTH,
    MAX_GROUP,
    MAX_IMPACT_DEPTH,
    MAX_LIMIT,
    MAX_SPOKEN,
    Asked,
    CallsRequest,
    ChainRequest,
    ImpactRequest,
    LinkedRequest,
)

SymbolText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ASKED_CHARS,
        description="`package.module.Class.method` or the end of it, `path:line`, a path of a file, or an id",
    ),
]


class SymbolIn(BaseModel):
    """Which symbol is meant."""

    model_config = ConfigDict(extra="forbid")

    symbol: SymbolText
    project: str | None = Field(default=None, description="Its folder, or the end of that, or the id of the project")
    path: str | None = Field(default=None, description="Only symbols of this file or folder")

    def asked(self) -> Asked:
        return Asked(self.symbol, self.project, self.path)


class CallsIn(SymbolIn):
    depth: int = Field(default=1, ge=1, le=MAX_DEPTH, description="So many steps away")
    limit: int = Field(default=20, ge=1, le=MAX_LIMIT, description="Symbols in an answer")
    cursor: str | None = Field(default=None, description="`next_cursor` of the answer before")
    detail: Detail = Field(default="names", description="names, signatures, or code for the texts as well")
    max_tokens: int | None = Field(default=None, ge=1, description="About so many tokens of symbols")
    min_certainty: Certainty = Field(default="guess", description="Leaves out what is less sure")
    kinds: list[Relation] = Field(
        default=["calls"], min_length=1, max_length=6,
        description="Of calls, references, imports, inherits, overrides, tests",
    )  # fmt: skip

    def request(self, direction: Direction) -> CallsRequest:
        return CallsRequest(
            self.asked(),
            direction,
            self.depth,
            self.limit,
            self.cursor,
            self.detail,
            self.max_tokens,
            self.min_certainty,
            tuple(dict.fromkeys(self.kinds)),
        )


class ChainIn(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    origin: SymbolText = Field(alias="from", description="Where it begins; as `symbol`")
    goal: SymbolText = Field(alias="to", description="Where it is to end; as `symbol`")
    max_depth: int = Field(default=6, ge=1, le=MAX_CHAIN_DEPTH, description="Longer ways are not looked for")
    project: str | None = Field(default=None, description="Its folder, or the end of that, or the id of the project")

    def request(self) -> ChainRequest:
        return ChainRequest(Asked(self.origin, self.project), Asked(self.goal, self.project), self.max_depth)


class LinkedIn(SymbolIn):
    symbol: SymbolText = Field(description="A symbol, as elsewhere; or a question, which finds some")
    limit: int = Field(default=10, ge=1, le=MAX_SPOKEN, description="Of what was said")

    def request(self) -> LinkedRequest:
        return LinkedRequest(self.asked(), self.limit)


class ImpactIn(SymbolIn):
    depth: int = Field(default=3, ge=1, le=MAX_IMPACT_DEPTH, description="Callers so many steps away")
    limit: int = Field(default=10, ge=1, le=MAX_GROUP, description="Shown of each group")

    def request(self) -> ImpactRequest:
        return ImpactRequest(self.asked(), self.depth, self.limit)
