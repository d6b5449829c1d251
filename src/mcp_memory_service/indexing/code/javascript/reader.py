"""What the parts of the JavaScript front end share while they read one file."""

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from tree_sitter import Node

from ..facts import Expr, FactsBuilder, Op, Row, Scope, Site, SiteFlag
from .grammars import Outline
from .variables import Block, Frame, Variables

MAX_DEPTH = 100
"""Deeper expressions and blocks are read later, as statements of their own, so that the stack stays small whatever the
text is."""

ExpressionReader: TypeAlias = "Callable[[Reader, Node, str], Expr]"
StatementReader: TypeAlias = "Callable[[Reader, Node], None]"


@dataclass(frozen=True, slots=True)
class Parts:
    """How each kind of node is read. They call each other through the reader."""

    expressions: dict[str, ExpressionReader]
    statements: dict[str, StatementReader]
    hoist: StatementReader
    """Declares what a list of statements declares, before any of them is read."""
    assign_member: "Callable[[Reader, Node, Expr], None]"
    """`of.name = value`, by the node of its left side."""


class Reader:
    """One file while it is read."""

    def __init__(
        self,
        build: FactsBuilder,
        outline: Outline,
        module: Frame,
        end: int,
        parts: Parts,
    ) -> None:
        self.build = build
        self.outline = outline
        self.module = module
        self.variables = Variables(build, outline, module, end)
        self.own_specifier = ""
        """How the file would import itself."""
        self.exports: dict[str, int] = {}
        """The variables of what it exports."""
        self.object_slot = -1
        """The variable that holds the object literal that is being read."""
        self.prototype_of = -1
        """The function whose prototype the next object literal is."""
        self.prototypes: dict[Expr, int] = {}
        """Values that are prototypes, with their functions: `const proto = F.prototype`."""
        self.promise_slots: dict[int, int] = {}
        """By the nodes of what `new Promise` is given the variables that hold what the promises hold."""
        self.alias_slots: dict[int, int] = {}
        """By the nodes of type aliases the variables that hold what they stand for."""
        self.namespaces: dict[str, Block] = {}
        self.uses_this: set[Expr] = set()
        """The values of `this` that are read anywhere."""
        self.problems: list[str] = []
        self.parts = parts
        self._depth = 0
        self._later: deque[tuple[Frame, Block, Callable[[], None]]] = deque()

    @property
    def frame(self) -> Frame:
        return self.variables.frame

    def value(self, node: Node | None, name: str = "") -> Expr:
        """What an expression is; `name` is the qualified name that a function in it gets if it has none of its own."""
        if node is None:
            return 0
        if self._depth > MAX_DEPTH:
            self.later(lambda: self._ignore(node))
            return 0
        read = self.parts.expressions.get(node.type)
        self._depth += 1
        value = 0
        if read is not None:
            value = read(self, node, name)
        else:
            for child in node.named_children:
                self.value(child)
        self._depth -= 1
        return value

    def statement(self, node: Node | None) -> None:
        if node is None:
            return
        if self._depth > MAX_DEPTH:
            self.later(lambda: self.statement(node))
            return
        read = self.parts.statements.get(node.type)
        self._depth += 1
        if read is not None:
            read(self, node)
        else:
            for child in node.named_children:
                self.value(child)
        self._depth -= 1

    def enter(self) -> bool:
        """One level deeper, if that is not too deep."""
        if self._depth > MAX_DEPTH:
            return False
        self._depth += 1
        return True

    def leave(self) -> None:
        self._depth -= 1

    def statement_list(self, node: Node) -> None:
        """In the block that is there."""
        self.hoist(node)
        for child in node.named_children:
            self.statement(child)

    def hoist(self, node: Node) -> None:
        self.parts.hoist(self, node)

    def assign_member(self, node: Node, value: Expr) -> None:
        self.parts.assign_member(self, node, value)

    def _ignore(self, node: Node) -> None:
        self.value(node)

    def later(self, task: Callable[[], None], frame: Frame | None = None, block: Block | None = None) -> None:
        """Runs when the scopes around are known to their ends: functions may use what is declared below them."""
        self._later.append((frame or self.frame, block or self.variables.block, task))

    def finish(self) -> None:
        while self._later:
            frame, block, task = self._later.popleft()
            self._depth = 0
            with self.variables.within(block, frame):
                task()

    @contextmanager
    def inside(self, node: Node) -> Generator[None]:
        """The block of names of a node."""
        with self.variables.within(self.variables.inner_block(node)):
            yield

    def scope_of(self, node: Node) -> int | None:
        """The number of a function or class, none if it is only announced here."""
        return self.outline.scopes.get(node.id)

    def scope(self, number: int) -> Scope:
        return self.build.facts.scopes[number]

    def symbol(self, number: int) -> Expr:
        return self.build.expr(Op.SYMBOL, number)

    def op(self, expr: Expr) -> int:
        return self.build.facts.exprs[expr][0]

    def row(self, expr: Expr) -> Row:
        return self.build.facts.exprs[expr]

    def external(self, what: str) -> Expr:
        return self.build.expr(Op.EXTERNAL, what)

    def key(self, value: str | int) -> Expr:
        return self.build.expr(Op.KEY, value)

    def slot_value(self, slot: int) -> Expr:
        return self.build.expr(Op.SLOT, slot)

    def attribute(self, of: Expr, name: str) -> Expr:
        return self.build.expr(Op.ATTR, of, name)

    def call(self, node: Node, callee: Expr, arguments: list[Expr], flags: int = 0) -> Expr:
        self.frame.stored.clear()
        return self.build.call(Site(self.frame.scope, line_of(node), callee, arguments, [], flags))

    def mentioned(self, expr: Expr, node: Node) -> Expr:
        """A value that is read: a reference, if it is a function or a class."""
        if self.op(expr) in _MENTIONED:
            self.build.read(self.frame.scope, expr, line_of(node))
        return expr

    def global_name(self, node: Node | None, names: frozenset[str] | set[str]) -> str:
        """The name of a global object, if the node is one of these and nothing of the file hides it; else empty."""
        if node is None or node.type != "identifier":
            return ""
        name = text_of(node)
        return name if name in names and self.variables.find(name) is None else ""


_MENTIONED = frozenset({Op.SLOT, Op.SYMBOL, Op.MEMBER, Op.ATTR})


def text_of(node: Node | None) -> str:
    return "" if node is None else (node.text or b"").decode("utf-8", "replace")


def line_of(node: Node) -> int:
    return node.start_point[0] + 1


def field_of(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def string_of(node: Node | None) -> str | None:
    """The text of a string that is written without anything to put in, without escapes."""
    if node is None or node.type not in {"string", "template_string"}:
        return None
    parts = node.named_children
    if not parts:
        return ""
    return text_of(parts[0]) if len(parts) == 1 and parts[0].type == "string_fragment" else None


def decorate(r: Reader, decorator: Node, decorated: Expr = 0) -> None:
    for child in decorator.named_children:
        if child.type != "comment":
            r.call(decorator, r.value(child), [decorated], SiteFlag.DECORATOR)
