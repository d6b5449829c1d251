"""What the code graph answers beside calls: what was said, what a change may touch, how much there is."""

from typing import Self

from pydantic import BaseModel, Field

from ..models import Freshness
from ..services.code.findings import CodeStats, ImpactAnswer, LinkedAnswer, Role, Spoken
from .answers import ListedOut
from .code import CallsOut, CompletenessOut, RelatedOut, SymbolOut
from .fields import FRESHNESS_MEANT, StoredMoment


class SpokenOut(BaseModel):
    memory: ListedOut
    role: Role = Field(description="By its kind, and of a plain memory by its type")
    symbol: str = Field(description="What it speaks of")
    form: str = Field(description="name, qualified, or place for `path:line`")
    changed_since: StoredMoment | None = Field(description="When the symbol got another text after this was written")

    @classmethod
    def of(cls, spoken: Spoken) -> Self:
        return cls(
            memory=ListedOut.begun(spoken.memory),
            role=spoken.role,
            symbol=spoken.symbol,
            form=spoken.form,
            changed_since=spoken.changed_since,  # pyright: ignore[reportArgumentType] - read by its validator
        )


class LinkedOut(BaseModel):
    symbols: list[SymbolOut]
    by_search: bool = Field(description="Found by the words of a question, best first, and not by a name")
    callers: CallsOut
    callees: CallsOut
    spoken: list[SpokenOut] = Field(description="What was said about it, newest first")
    total: int
    bounded: bool = Field(description="More texts have the words of the name than were looked at")

    @classmethod
    def of(cls, answer: LinkedAnswer) -> Self:
        return cls(
            symbols=[SymbolOut.of(each) for each in answer.symbols],
            by_search=answer.by_search,
            callers=CallsOut.of(answer.callers),
            callees=CallsOut.of(answer.callees),
            spoken=[SpokenOut.of(each) for each in answer.spoken],
            total=answer.total,
            bounded=answer.bounded,
        )


class ImpactGroupOut(BaseModel):
    depth: int
    weight: float = Field(description="What one of them counts in the risk")
    total: int
    shown: list[RelatedOut]


class ChangedTogetherOut(BaseModel):
    path: str
    commits: int
    share: float = Field(description="Of the commits that changed the file")


class FileHistoryOut(BaseModel):
    commits: int = Field(description="That changed the file, of the last ones")
    together: list[ChangedTogetherOut]


class RiskPartOut(BaseModel):
    name: str
    points: float
    at_most: int
    why: str


class RiskOut(BaseModel):
    score: int = Field(description="0 to 100")
    parts: list[RiskPartOut]


class ImpactOut(BaseModel):
    symbols: list[SymbolOut]
    depth: int
    callers: list[ImpactGroupOut] = Field(description="Without tests, by depth")
    heirs: list[RelatedOut] = Field(description="What overrides it or inherits from it")
    tests: list[RelatedOut] = Field(description="That reach it, nearest first")
    tests_total: int
    files: int = Field(description="Others than its own that reach it")
    spoken: list[SpokenOut] = Field(description="Decisions first, then errors, then the rest")
    spoken_total: int
    history: FileHistoryOut | None = Field(description="null if the folder has none")
    risk: RiskOut
    completeness: CompletenessOut

    @classmethod
    def of(cls, answer: ImpactAnswer) -> Self:
        groups = [
            ImpactGroupOut(
                depth=group.depth,
                weight=group.weight,
                total=group.total,
                shown=[RelatedOut.of(each) for each in group.shown],
            )
            for group in answer.callers
        ]
        return cls(
            symbols=[SymbolOut.of(each) for each in answer.symbols],
            depth=answer.depth,
            callers=groups,
            heirs=[RelatedOut.of(each) for each in answer.heirs],
            tests=[RelatedOut.of(each) for each in answer.tests],
            tests_total=answer.tests_total,
            files=answer.files,
            spoken=[SpokenOut.of(each) for each in answer.spoken],
            spoken_total=answer.spoken_total,
            history=_history_out(answer),
            risk=_risk_out(answer),
            completeness=CompletenessOut.of(answer.completeness),
        )


def _history_out(answer: ImpactAnswer) -> FileHistoryOut | None:
    if answer.history is None:
        return None
    together = [
        ChangedTogetherOut(path=each.path, commits=each.commits, share=round(each.share, 3))
        for each in answer.history.together
    ]
    return FileHistoryOut(commits=answer.history.commits, together=together)


def _risk_out(answer: ImpactAnswer) -> RiskOut:
    parts = [
        RiskPartOut(name=part.name, points=round(part.points, 1), at_most=part.at_most, why=part.why)
        for part in answer.risk.parts
    ]
    return RiskOut(score=answer.risk.score, parts=parts)


class CodeRootOut(BaseModel):
    root: str
    files: int
    settled: bool = Field(description="Whether the last index run came to its end")


class CodeStatsOut(BaseModel):
    roots: list[CodeRootOut]
    files: int
    symbols: int
    symbols_by_kind: dict[str, int]
    files_by_language: dict[str, int]
    edges: dict[str, dict[str, int]] = Field(description="By kind, then by certainty")
    open_calls: int = Field(description="Functions with names they call that were not resolved, each pair once")
    resolved_share: float = Field(description="Of the calls that may lead to the project, 0 to 1")
    freshness: dict[Freshness, int] = Field(description=f"Of the files that were looked at. {FRESHNESS_MEANT}")
    looked_at: int
    awaiting_vectors: int = Field(description="Symbols that are found by their words, and not by their meaning yet")

    @classmethod
    def of(cls, stats: CodeStats) -> Self:
        return cls.model_validate(stats, from_attributes=True)
