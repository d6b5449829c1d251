"""Names, operators and other expressions."""

from tree_sitter import Node

from ..facts import Expr, Op
from .exports import exports_object
from .functions import all_arguments, await_expression, function_expression, yield_expression
from .narrowing import narrowed
from .objects import array_literal, object_literal
from .patterns import constant_key, is_index
from .reader import ExpressionReader, Reader, field_of, string_of, text_of
from .types import promised


def identifier(r: Reader, node: Node, _name: str) -> Expr:
    text = text_of(node)
    if text == "undefined":
        return 0
    if text == "exports" and exports_object(r, node):
        return r.build.expr(Op.MODULE, r.own_specifier)
    if text == "arguments" and r.variables.find(text) is None:
        return all_arguments(r)
    value = r.variables.read(text)
    return value if r.op(value) == Op.ATTR else r.mentioned(value, node)


def member(r: Reader, node: Node, _name: str) -> Expr:
    of_node, last = field_of(node, "object"), text_of(field_of(node, "property"))
    if last == "exports" and exports_object(r, node):
        return r.build.expr(Op.MODULE, r.own_specifier)
    of = r.value(of_node)
    if r.op(of) == Op.EXTERNAL:
        return of
    if last == "prototype":
        return r.build.expr(Op.PROTOTYPE, of) if of else 0
    forwarded = r.frame.stored.get((of, last))
    if forwarded is not None:
        return forwarded
    if last == "constructor":
        return r.build.expr(Op.TYPE_OF, of) if of else 0
    return r.mentioned(r.attribute(of, last), node)


def subscript(r: Reader, node: Node, _name: str) -> Expr:
    of_node, index = field_of(node, "object"), field_of(node, "index")
    of = r.value(of_node)
    if index is not None and index.type == "number" and text_of(index).isdecimal():
        return r.build.expr(Op.ITEM, of, r.key(int(text_of(index))))
    if index is not None and index.type == "identifier":
        constant = r.variables.read(text_of(index))
        if r.op(constant) == Op.KEY and isinstance(r.row(constant)[1], int):
            return r.build.expr(Op.ITEM, of, constant)
    key = constant_key(r, index)
    if key is None:
        found = r.value(index)
        return r.build.expr(Op.ITEM, of, found if r.op(found) in _KEYS else 0)
    forwarded = r.frame.stored.get((of, key))
    if forwarded is not None:
        return forwarded
    if is_index(key):
        return r.build.expr(Op.ITEM, of, r.key(int(key)))
    return r.mentioned(r.attribute(of, key), node)


_KEYS = frozenset({Op.SLOT, Op.MEMBER, Op.ATTR, Op.UNION})


def text(r: Reader, node: Node, _name: str) -> Expr:
    value = string_of(node)
    if value is not None and len(value) < 100:
        return r.key(value)
    for child in node.named_children:
        r.value(child)
    return r.external("string")


def number(r: Reader, node: Node, _name: str) -> Expr:
    written = text_of(node)
    return r.key(int(written)) if written.isdecimal() and len(written) < 10 else r.external("number")


def binary(r: Reader, node: Node, name: str) -> Expr:
    """Long chains are read from their left end, so that they need no depth."""
    chain = [node]
    while (left := field_of(chain[-1], "left")) is not None and left.type == "binary_expression":
        chain.append(left)
    value = r.value(field_of(chain[-1], "left"), name)
    for one in reversed(chain):
        operator = text_of(field_of(one, "operator"))
        right = r.value(field_of(one, "right"), name)
        if operator in {"||", "??"}:
            value = r.build.union((value, right))
        elif operator == "&&":
            value = right
        else:
            value = r.external("operator")
    return value


def unary(r: Reader, node: Node, _name: str) -> Expr:
    for child in node.named_children:
        r.value(child)
    return r.external("operator")


def update(r: Reader, node: Node, name: str) -> Expr:
    """`i++`"""
    changed = unary(r, node, name)
    argument = field_of(node, "argument")
    if argument is not None and argument.type == "identifier":
        r.variables.assign_name(text_of(argument), changed)
    return changed


def ternary(r: Reader, node: Node, name: str) -> Expr:
    condition = field_of(node, "condition")
    r.value(condition)
    with narrowed(r, condition):
        first = r.value(field_of(node, "consequence"), name)
    return r.build.union((first, r.value(field_of(node, "alternative"), name)))


def last_value(r: Reader, node: Node, name: str) -> Expr:
    """`(a)`, `a, b`"""
    value = 0
    for child in node.named_children:
        if child.type != "comment":
            value = r.value(child, name)
    return value


def first_value(r: Reader, node: Node, name: str) -> Expr:
    """`a!`, `a satisfies B`"""
    return r.value(node.named_children[0], name) if node.named_children else 0


def cast(r: Reader, node: Node, name: str) -> Expr:
    """`a as B`: what is known of the value counts, if anything is; `as const` says nothing."""
    parts = [child for child in node.named_children if child.type != "comment"]
    value = r.value(parts[0], name) if parts else 0
    declared = promised(r, parts[1]) if len(parts) > 1 else 0
    return declared or value


def assertion(r: Reader, node: Node, name: str) -> Expr:
    """`<A>b`"""
    parts = node.named_children
    value = r.value(parts[-1], name) if parts else 0
    kinds = parts[0].named_children if len(parts) > 1 else []
    return (promised(r, kinds[0]) if kinds else 0) or value


def this(r: Reader, _node: Node, _name: str) -> Expr:
    r.uses_this.add(r.frame.this)
    return r.frame.this


def external(r: Reader, node: Node, _name: str) -> Expr:
    return r.external(node.type)


def nothing(_r: Reader, _node: Node, _name: str) -> Expr:
    return 0


EXPRESSIONS: dict[str, ExpressionReader] = {
    "identifier": identifier,
    "shorthand_property_identifier": identifier,
    "member_expression": member,
    "subscript_expression": subscript,
    "string": text,
    "template_string": text,
    "number": number,
    "binary_expression": binary,
    "unary_expression": unary,
    "update_expression": update,
    "ternary_expression": ternary,
    "parenthesized_expression": last_value,
    "sequence_expression": last_value,
    "non_null_expression": first_value,
    "satisfies_expression": first_value,
    "as_expression": cast,
    "type_assertion": assertion,
    "this": this,
    "regex": external,
    "true": external,
    "false": external,
    "null": nothing,
    "undefined": nothing,
    "comment": nothing,
    "function_expression": function_expression,
    "generator_function": function_expression,
    "arrow_function": function_expression,
    "object": object_literal,
    "array": array_literal,
    "await_expression": await_expression,
    "yield_expression": yield_expression,
    "jsx_text": nothing,
    "type_arguments": nothing,
}
