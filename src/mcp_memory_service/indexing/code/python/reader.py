"""What the parts of the Python front end share while they read one file."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tree_sitter import Node

from ..facts import Expr, FactsBuilder, Op
from .flow import Frame

if TYPE_CHECKING:
    from .symbols import Symbols

# Deeper expressions and blocks are read later, as statements of their own, so that the stack stays small whatever the
# text is. People nest about ten deep; chains of calls count twice for each link.
MAX_DEPTH = 80

ExpressionReader: TypeAlias = "Callable[[Reader, Node], Expr]"
StatementReader: TypeAlias = "Callable[[Reader, Node], None]"


class Reader:
    """One file while it is read."""

    def __init__(
        self,
        build: FactsBuilder,
        symbols: "Symbols",
        frame: Frame,
        expressions: dict[str, ExpressionReader],
        statements: dict[str, StatementReader],
        *,
        is_test: bool,
        is_stub: bool,
    ) -> None:
        self.build = build
        self.symbols = symbols
        self.frame = frame
        self.module = frame
        self.is_test = is_test
        self.is_stub = is_stub
        self.shared_names: frozenset[str] = frozenset()
        """Names that some function of the file declares `global` or `nonlocal`."""
        self.changes: dict[Expr, int] = {}
        """For literals that stand for an earlier one with a change: how many changes there are."""
        self._expressions = expressions
        self._statements = statements
        self.read_ops: tuple[int, ...] = (Op.SYMBOL, Op.MEMBER, Op.CALL)
        """What a name must stand for that its being read is noted; names of nothing too, if a star may bring them."""
        self.ascii: str | None = None
        """The text, if bytes and characters are counted alike; slices of it are cheaper than texts of nodes."""
        self._depth = 0
        self._later: deque[tuple[Frame, Callable[[], None]]] = deque()

    def expr(self, node: Node | None) -> Expr:
        if node is None:
            return 0
        if self._depth > MAX_DEPTH:
            self.later(lambda: self._ignore(node))
            return 0
        read = self._expressions.get(node.type)
        self._depth += 1
        if read is not None:
            value = read(self, node)
        else:
            value = 0
            for child in node.named_children:
                self.expr(child)
        self._depth -= 1
        return value

    def block(self, node: Node | None) -> None:
        if node is None:
            return
        if self._depth > MAX_DEPTH:
            self.later(lambda: self.block(node))
            return
        self._depth += 1
        for child in node.children:
            read = self._statements.get(child.type)
            if read is not None:
                read(self, child)
            elif child.is_named:
                self.expr(child)
        self._depth -= 1

    def later(self, task: Callable[[], None], frame: Frame | None = None) -> None:
        """Runs when the scopes around are known to their ends: bodies of functions may use what is bound below them."""
        self._later.append((frame or self.frame, task))

    def finish(self) -> None:
        while self._later:
            self.frame, task = self._later.popleft()
            self._depth = 0
            task()

    def _ignore(self, node: Node) -> None:
        self.expr(node)

    def name(self, text: str) -> Expr:
        """What a name stands for here."""
        found = self.frame.find(text)
        return self.build.expr(Op.FREE, text) if found is None else found

    def bind(self, name: str, value: Expr) -> None:
        frame = self.frame
        if name in self.shared_names:
            frame = frame.declared_global.get(name, frame)
            slot = frame.slots.get(name)
            if slot is None:
                slot = frame.slots[name] = self.build.slot(*filter(None, (frame.names.get(name),)))
            self.build.bind(slot, value)
            value = self.build.expr(Op.SLOT, slot)
        frame.bind(name, value)

    def text(self, node: Node) -> str:
        return self.ascii[node.start_byte : node.end_byte] if self.ascii is not None else text_of(node)

    def op(self, expr: Expr) -> int:
        return self.build.facts.exprs[expr][0]

    def read(self, expr: Expr, node: Node) -> None:
        self.build.read(self.frame.scope, expr, node.start_point[0] + 1)


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def line_of(node: Node) -> int:
    return node.start_point[0] + 1


def operation(r: Reader, node: Node, of: Expr, method: str, argument: Expr = 0) -> Expr:
    """A method that is called without being named."""
    if r.op(of) in (Op.EXTERNAL, Op.KEY):
        return r.build.expr(Op.EXTERNAL, method)
    expr = r.build.expr(Op.OPERATION, of, method, argument)
    r.read(expr, node)
    return expr


def element(r: Reader, node: Node, of: Expr, *, is_async: bool = False) -> Expr:
    """What iterating over `of` gives."""
    if r.op(of) in (Op.EXTERNAL, Op.KEY):
        return r.build.expr(Op.EXTERNAL, "element")
    expr = r.build.expr(Op.ELEMENT, of, 1) if is_async else r.build.expr(Op.ELEMENT, of)
    r.read(expr, node)
    return expr


def object_and_name(node: Node) -> tuple[Node | None, Node | None]:
    """Of an attribute."""
    parts = node.named_children
    if len(parts) == 2:
        return parts[0], parts[1]
    return node.child_by_field_name("object"), node.child_by_field_name("attribute")


def attribute_key(attribute: Expr) -> str:
    """Under which the names of a frame have what a test has made sure of an attribute."""
    return f"#{attribute}"
