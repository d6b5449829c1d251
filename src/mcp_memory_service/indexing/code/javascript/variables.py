"""Which variable a name means, and which values reach a place."""

from bisect import bisect_left
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tree_sitter import Node

from ..facts import Expr, FactsBuilder, Op
from .grammars import Outline


@dataclass(slots=True, eq=False)
class Variable:
    name: str
    home: "Frame"
    slot: int
    """Holds all that is ever assigned: what functions within see, for nobody knows when they run."""
    steady: Expr = 0
    """What it always is: a function, a class, an import, a constant."""
    is_shared: bool = False
    """Assigned by a function within."""
    resolves: int = -1
    """If it is what a `new Promise` gives its function: the variable that holds what the promise is resolved with."""


@dataclass(slots=True, eq=False)
class Block:
    """The names between two braces."""

    start: int
    end: int
    frame: "Frame"
    outer: "Block | None"
    names: dict[str, Variable] = field(default_factory=dict[str, Variable])
    types: dict[str, Expr] = field(default_factory=dict[str, Expr])
    """What a value of each type is."""


@dataclass(slots=True, eq=False)
class Frame:
    """A function, a class body or the module while it is read."""

    scope: int
    path: str
    """Its qualified name."""
    outer: "Frame | None"
    this: Expr = 0
    class_scope: int = -1
    """The class whose method this is, or an arrow function in one."""
    is_function: bool = True
    now: dict[Variable, Expr] = field(default_factory=dict[Variable, Expr])
    """What each variable of this frame holds at the place that is being read."""
    narrowed: dict[Variable, Expr] = field(default_factory=dict[Variable, Expr])
    """What a test has made sure of."""
    joins: list[dict[Variable, int]] = field(default_factory=list[dict[Variable, int]])
    """Of the loops around: variables that are assigned in them, and where their values meet."""
    anonymous: int = 0
    stored: dict[tuple[Expr, str], Expr] = field(default_factory=dict[tuple[Expr, str], Expr])
    """Attributes that were assigned just before: no call, branch or loop lies between."""
    arguments: Expr = 0
    """What `arguments` is, once it was asked for."""


class Variables:
    def __init__(self, build: FactsBuilder, outline: Outline, frame: Frame, end: int) -> None:
        self._build = build
        self._outline = outline
        self.frame = frame
        self.module = Block(0, end, frame, None)
        self.block = self.module

    @contextmanager
    def within(self, block: Block, frame: Frame | None = None) -> Generator[None]:
        before = self.block, self.frame
        self.block, self.frame = block, frame or self.frame
        yield
        self.block, self.frame = before

    def inner_block(self, node: Node, frame: Frame | None = None) -> Block:
        return Block(node.start_byte, node.end_byte, frame or self.frame, self.block)

    def declare(self, name: str, block: Block | None = None, steady: Expr = 0) -> Variable:
        """A variable of a block; one that is there already stays."""
        block = block or self.block
        variable = block.names.get(name)
        if variable is None:
            variable = block.names[name] = Variable(name, block.frame, self._build.slot())
            variable.is_shared = any(scope != block.frame.scope for scope in self._writers(name, block))
        if steady:
            self._build.bind(variable.slot, steady)
            if not self.is_written(name, block):
                variable.steady = steady
        return variable

    def _writers(self, name: str, block: Block) -> Iterator[int]:
        return (scope for place, scope in self._outline.writes.get(name, ()) if block.start <= place < block.end)

    def is_written(self, name: str, block: Block, at_most: int = 0) -> bool:
        return sum(1 for _ in self._writers(name, block)) > at_most

    def find(self, name: str) -> Variable | None:
        block: Block | None = self.block
        while block is not None:
            variable = block.names.get(name)
            if variable is not None:
                return variable
            block = block.outer
        return None

    def find_type(self, name: str) -> Expr | None:
        block: Block | None = self.block
        while block is not None:
            found = block.types.get(name)
            if found is not None:
                return found
            block = block.outer
        return None

    def read(self, name: str) -> Expr:
        variable = self.find(name)
        return self._build.expr(Op.FREE, name) if variable is None else self.value(variable)

    def value(self, variable: Variable) -> Expr:
        frame = self.frame
        if variable in frame.narrowed:
            return frame.narrowed[variable]
        if variable.steady:
            return variable.steady
        if variable.home is frame and not variable.is_shared and variable in frame.now:
            return frame.now[variable]
        return self._build.expr(Op.SLOT, variable.slot)

    def assign(self, variable: Variable, value: Expr) -> None:
        self._build.bind(variable.slot, value)
        frame = self.frame
        frame.stored.clear()
        frame.narrowed.pop(variable, None)
        if variable.home is frame:
            frame.now[variable] = value
            for join in frame.joins:
                if variable in join:
                    self._build.bind(join[variable], value)

    def assign_name(self, name: str, value: Expr) -> None:
        """A name that is declared nowhere becomes one of the module."""
        self.assign(self.find(name) or self.declare(name, self.module), value)

    def written_in(self, node: Node) -> set[str]:
        places = self._outline.places
        first = bisect_left(places, (node.start_byte, ""))
        last = bisect_left(places, (node.end_byte, ""))
        return {name for _, name in places[first:last]}

    @contextmanager
    def joined(self, node: Node) -> Generator[None]:
        """For loops and `try`: what is assigned anywhere in them may be there at any place of them, and after them."""
        join: dict[Variable, int] = {}
        frame = self.frame
        for name in sorted(self.written_in(node)):
            variable = self.find(name)
            if variable is not None and variable.home is frame and not variable.is_shared and not variable.steady:
                join[variable] = self._build.slot(*filter(None, (frame.now.get(variable, 0),)))
                frame.now[variable] = self._build.expr(Op.SLOT, join[variable])
        frame.joins.append(join)
        frame.stored.clear()
        yield
        frame.stored.clear()
        frame.joins.pop()
        for variable, slot in join.items():
            frame.now[variable] = self._build.expr(Op.SLOT, slot)

    def unite(self, ways: list[dict[Variable, Expr]]) -> None:
        """After branches: what each of them leaves."""
        united: dict[Variable, Expr] = dict(ways[0])
        for way in ways[1:]:
            for variable, value in way.items():
                known = united.get(variable, 0)
                united[variable] = known if known == value else self._build.union((known, value))
        self.frame.now = united
        self.frame.stored.clear()
