"""What a condition makes sure of: `x instanceof A`, `isA(x)`."""

from collections.abc import Generator
from contextlib import contextmanager

from tree_sitter import Node

from ..facts import Expr, Op
from .reader import Reader, field_of, text_of
from .types import promised
from .variables import Variable


@contextmanager
def narrowed(r: Reader, condition: Node | None) -> Generator[None]:
    """Where a condition holds."""
    found = _tested(r, condition)
    frame = r.frame
    before = dict(frame.narrowed)
    if found is not None:
        frame.narrowed[found[0]] = found[1]
    yield
    frame.narrowed = before


def _tested(r: Reader, condition: Node | None) -> tuple[Variable, Expr] | None:
    node = condition
    while node is not None and node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    while node is not None and node.type == "binary_expression" and text_of(field_of(node, "operator")) == "&&":
        node = field_of(node, "left")
    if node is not None and node.type == "call_expression":
        return _by_predicate(r, node)
    if node is None or node.type != "binary_expression" or text_of(field_of(node, "operator")) != "instanceof":
        return None
    variable = _variable(r, field_of(node, "left"))
    return (variable, r.build.expr(Op.INSTANCE, r.value(field_of(node, "right")))) if variable else None


def _by_predicate(r: Reader, node: Node) -> tuple[Variable, Expr] | None:
    """A function of this file that says `x is A` of its first parameter."""
    function, arguments = field_of(node, "function"), field_of(node, "arguments")
    if function is None or function.type != "identifier":
        return None
    row = r.row(r.variables.read(text_of(function)))
    if row[0] != Op.SYMBOL or arguments is None or not arguments.named_children:
        return None
    returned = field_of(r.outline.nodes[int(row[1])], "return_type")
    variable = _variable(r, arguments.named_children[0])
    if variable is None or returned is None or returned.type != "type_predicate_annotation":
        return None
    said = field_of(returned.named_children[0], "type") if returned.named_children else None
    value = promised(r, said) if said is not None else 0
    return (variable, value) if value else None


def _variable(r: Reader, node: Node | None) -> Variable | None:
    return r.variables.find(text_of(node)) if node is not None and node.type == "identifier" else None
