"""What a condition makes sure about the types of variables."""

from typing import TypeAlias

from tree_sitter import Node

from ..facts import Expr, Op
from .flow import parts as parts_of
from .reader import Reader, attribute_key, text_of

Known: TypeAlias = list[tuple[str, Expr]]
_MAX_DEPTH = 20


def narrowed(r: Reader, condition: Node | None, depth: int = 0) -> tuple[Known, Known]:
    """What variables are where it holds, and where it does not."""
    if condition is None or depth > _MAX_DEPTH:
        return [], []
    kind = condition.type
    if kind == "parenthesized_expression":
        return narrowed(r, condition.named_children[0] if condition.named_children else None, depth + 1)
    if kind == "not_operator":
        holds, fails = narrowed(r, condition.child_by_field_name("argument"), depth + 1)
        return fails, holds
    if kind == "boolean_operator":
        return _both(r, condition, depth)
    if kind == "call":
        return _isinstance(r, condition)
    return [], []


def _both(r: Reader, condition: Node, depth: int) -> tuple[Known, Known]:
    left = narrowed(r, condition.child_by_field_name("left"), depth + 1)
    right = narrowed(r, condition.child_by_field_name("right"), depth + 1)
    operator = condition.child_by_field_name("operator")
    if operator is not None and operator.type == "and":
        return left[0] + right[0], []
    return [], left[1] + right[1]


def _isinstance(r: Reader, node: Node) -> tuple[Known, Known]:
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if function is None or arguments is None or text_of(function) != "isinstance":
        return [], []
    parts = [child for child in arguments.named_children if child.type != "comment"]
    if len(parts) != 2 or not all(name.isidentifier() for name in text_of(parts[0]).split(".")):
        return [], []
    before = _quietly(r, parts[0])
    name = text_of(parts[0])
    if "." in name:
        name = attribute_key(before)
        before = r.frame.names.get(name, before)
        r.frame.has_narrowed_attributes = True
    value = _instances(r, parts[1])
    types = [r.build.facts.exprs[each][1] for each in parts_of(value, r.build) if r.op(each) == Op.INSTANCE]
    rest = r.build.expr(Op.EXCEPT, before, r.build.union(types)) if types and before else 0
    if rest:
        value = r.build.union([*parts_of(value, r.build), r.build.expr(Op.ONLY, before, r.build.union(types))])
    return ([(name, value)] if value else []), ([(name, rest)] if rest else [])


def _instances(r: Reader, node: Node) -> Expr:
    if node.type in ("tuple", "binary_operator"):
        return r.build.union([_instances(r, child) for child in node.named_children])
    if node.type not in ("identifier", "attribute"):
        return 0
    value = _quietly(r, node)
    row = r.build.facts.exprs[value]
    if row[0] == Op.FREE and not r.build.facts.scopes[0].stars:
        return r.build.expr(Op.EXTERNAL, row[1])
    return r.build.expr(Op.INSTANCE, value) if row[0] in (Op.SYMBOL, Op.MEMBER, Op.ATTR) else 0


def _quietly(r: Reader, node: Node) -> Expr:
    """The expression of a dotted name, which was noted as read before."""
    names = text_of(node).split(".")
    value = r.name(names[0])
    for name in names[1:]:
        value = r.build.expr(Op.ATTR, value, name)
    return value
