"""Branches, loops and `try`: which values reach what stands in them and after them."""

from tree_sitter import Node

from ..facts import Expr, Op
from .functions import iterated
from .grammars import bound_names
from .narrowing import narrowed
from .patterns import destructure
from .reader import Reader, StatementReader, field_of, text_of

_ENDS = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement"})


def if_statement(r: Reader, node: Node) -> None:
    condition = field_of(node, "condition")
    r.value(condition)
    consequence, alternative = field_of(node, "consequence"), field_of(node, "alternative")
    frame = r.frame
    before = dict(frame.now)
    frame.stored.clear()
    with narrowed(r, condition):
        r.statement(consequence)
    ways = [] if _ends(consequence) else [frame.now]
    frame.now = dict(before)
    frame.stored.clear()
    if alternative is not None:
        r.statement(alternative)
    if not _ends(alternative):
        ways.append(frame.now)
    r.variables.unite(ways or [before])


def _ends(node: Node | None) -> bool:
    """Whether what follows a statement is never reached through it."""
    while node is not None and node.type in {"statement_block", "else_clause"}:
        node = node.named_children[-1] if node.named_children else None
    return node is not None and node.type in _ENDS


def loop(r: Reader, node: Node) -> None:
    """`for (;;)`, `while`, `do`"""
    with r.inside(node):
        r.hoist(node)
        first = field_of(node, "initializer")
        if first is not None:
            _part(r, first)
        with r.variables.joined(node):
            for child in node.named_children:
                if child != first:
                    _part(r, child)


def _part(r: Reader, node: Node) -> None:
    if node.type.endswith(("statement", "declaration", "block")):
        r.statement(node)
    else:
        r.value(node)


def for_in(r: Reader, node: Node) -> None:
    left, right, body = field_of(node, "left"), field_of(node, "right"), field_of(node, "body")
    of = r.value(right)
    by_key = any(child.type == "in" for child in node.children)
    with r.inside(node), r.variables.joined(node):
        declares = field_of(node, "kind") is not None
        if left is not None:
            if declares and text_of(field_of(node, "kind")) != "var":
                for name in bound_names(left):
                    r.variables.declare(name)
            value = r.external("key") if by_key else iterated(r, node, of)
            if left.type == "array_pattern":
                value = _pairs(r, of, value)
            destructure(r, left, value, declares=declares)
        r.statement(body)


def _pairs(r: Reader, of: Expr, value: Expr) -> Expr:
    """A map gives its keys together with its values."""
    pair = r.build.literal(Op.SEQUENCE, [r.build.expr(Op.ELEMENT, of), r.build.expr(Op.ITEM, of, 0)])
    return r.build.union((value, pair))


def attempt(r: Reader, node: Node) -> None:
    """`try`, `switch`, labels: any part of it may be left at any place."""
    with r.variables.joined(node):
        for child in node.named_children:
            if child.type == "catch_clause":
                _catch(r, child)
            elif child.type in {"statement_block", "switch_body", "finally_clause"} or child.type.endswith("statement"):
                r.statement(child)
            else:
                r.value(child)


def _catch(r: Reader, node: Node) -> None:
    with r.inside(node):
        parameter = field_of(node, "parameter")
        for name in bound_names(parameter) if parameter is not None else ():
            r.variables.declare(name)
        r.statement(field_of(node, "body"))


def switch_body(r: Reader, node: Node) -> None:
    with r.inside(node):
        for case in node.named_children:
            r.hoist(case)
        for case in node.named_children:
            r.value(field_of(case, "value"))
            for statement in case.children_by_field_name("body"):
                r.statement(statement)


BRANCHES: dict[str, StatementReader] = {
    "if_statement": if_statement,
    "for_statement": loop,
    "while_statement": loop,
    "do_statement": loop,
    "for_in_statement": for_in,
    "try_statement": attempt,
    "switch_statement": attempt,
    "switch_body": switch_body,
    "with_statement": attempt,
}
