"""What is asked of the code graph."""

import re
from dataclasses import dataclass

from ...models import Certainty, Memory
from .answers import Detail, Direction, Relation, project_of
from .mentions import same_file

MAX_ASKED_CHARS = 500
MAX_DEPTH = 10
MAX_LIMIT = 200
MAX_CHAIN_DEPTH = 20
MAX_IMPACT_DEPTH = 6
MAX_GROUP = 100
MAX_SPOKEN = 100

PLACE = re.compile(r"(?P<path>.+?):(?P<line>[0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class Asked:
    """A symbol as a caller names it: `package.module.Class.method` or the end of that, `path:line`, a path of a file,
    or the first digits of an id; narrowed by a project and by a path."""

    symbol: str
    project: str | None = None
    """Its id, or its folder or the end of that."""
    path: str | None = None
    """A file or a folder, or the end of one."""

    @property
    def dotted(self) -> str:
        return self.symbol.strip().removesuffix("()").replace("::", ".").strip(".")

    @property
    def name(self) -> str:
        return self.dotted.rpartition(".")[2]

    @property
    def is_place(self) -> bool:
        return "/" in self.symbol or PLACE.fullmatch(self.symbol.strip()) is not None

    def admits(self, memory: Memory) -> bool:
        return (self.project is None or _is_project(memory, self.project)) and (
            self.path is None or _is_below(memory, self.path)
        )


@dataclass(frozen=True, slots=True)
class CallsRequest:
    """A walk along the calls as every door asks for it."""

    asked: Asked
    direction: Direction
    depth: int = 1
    limit: int = 20
    cursor: str | None = None
    """Where an earlier answer ended."""
    detail: Detail = "names"
    max_tokens: int | None = None
    """About so many tokens of symbols; at least one is shown."""
    min_certainty: Certainty = "guess"
    kinds: tuple[Relation, ...] = ("calls",)


@dataclass(frozen=True, slots=True)
class ChainRequest:
    origin: Asked
    goal: Asked
    max_depth: int = 6


@dataclass(frozen=True, slots=True)
class LinkedRequest:
    asked: Asked
    """A symbol, or a question."""
    limit: int = 10
    """Of what was said."""


@dataclass(frozen=True, slots=True)
class ImpactRequest:
    asked: Asked
    depth: int = 3
    limit: int = 10
    """Shown of each group."""


def _is_project(memory: Memory, asked: str) -> bool:
    root = str(memory.metadata.get("root", ""))
    return project_of(memory) == asked or (bool(root) and (root == asked or root.endswith(f"/{asked.strip('/')}")))


def _is_below(memory: Memory, asked: str) -> bool:
    path, wanted = str(memory.metadata.get("path", "")), asked.removeprefix("./").rstrip("/")
    inside = path.startswith(f"{wanted}/") or f"/{wanted}/" in f"/{path}"
    return inside or same_file(asked, path) or (memory.source or "").startswith(f"{wanted}/")
