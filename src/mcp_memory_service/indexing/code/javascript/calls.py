"""Calls as they are written: functions, methods, `new`, `super`, tags, and JSX elements."""

from tree_sitter import Node

from ..facts import Expr, Op, Site, SiteFlag
from .exports import required_module
from .global_objects import global_call, static_call
from .library import called_with, method_effects
from .objects import argument
from .reader import Reader, field_of, line_of, string_of, text_of
from .types import declared_type


def call_expression(r: Reader, node: Node, name: str) -> Expr:
    function, listed = field_of(node, "function"), field_of(node, "arguments")
    if function is None or listed is None:
        return 0
    if listed.type == "template_string":
        parts = [r.value(part) for part in listed.named_children if part.type == "template_substitution"]
        return r.call(node, r.value(function), [r.external("parts"), *parts])
    while function.type in {"parenthesized_expression", "non_null_expression"} and function.named_children:
        inner = function.named_children[-1]
        if inner.type == "sequence_expression":
            break
        function = inner
    nodes = [child for child in listed.named_children if child.type != "comment"]
    special = _special(r, node, function, nodes, name)
    if special is not None:
        return special
    result = _call(r, node, function, nodes)
    types = field_of(node, "type_arguments")
    if types is not None and types.named_children:
        return r.build.union((result, declared_type(r, types.named_children[0])))
    return result


def _special(r: Reader, node: Node, function: Node, nodes: list[Node], name: str) -> Expr | None:
    """What is no call of a function that a value stands for."""
    if function.type == "import" or r.global_name(function, {"require"}):
        return _required(r, node, nodes)
    if function.type == "super":
        callee = r.attribute(r.build.expr(Op.SUPER, r.frame.class_scope), "constructor")
        return r.call(node, callee, [argument(r, one) for one in nodes], SiteFlag.OPTIONAL)
    if function.type == "identifier":
        return _named(r, node, text_of(function), nodes)
    return static_call(r, node, function, nodes, name) if function.type == "member_expression" else None


def _required(r: Reader, node: Node, nodes: list[Node]) -> Expr:
    specifier = string_of(nodes[0]) if nodes else None
    if specifier is not None:
        return required_module(r, node, specifier)
    for one in nodes:
        r.value(one)
    return 0


def _named(r: Reader, node: Node, name: str, nodes: list[Node]) -> Expr | None:
    variable = r.variables.find(name)
    if variable is None:
        return global_call(r, node, name, nodes)
    if variable.resolves < 0:
        return None
    for one in nodes:
        r.build.bind(variable.resolves, r.value(one))
    return 0


def _call(r: Reader, node: Node, function: Node, nodes: list[Node]) -> Expr:
    if function.type != "member_expression":
        callee = r.value(function)
        return r.call(node, callee, [argument(r, one) for one in nodes])
    of_node, method = field_of(function, "object"), text_of(field_of(function, "property"))
    if of_node is None:
        return 0
    of = _super(r) if of_node.type == "super" else r.value(of_node)
    if method in {"call", "apply", "bind"} and r.op(of) != Op.EXTERNAL:
        return called_with(r, node, method, of, nodes)
    stored = r.frame.stored.get((of, method))
    arguments = [argument(r, one) for one in nodes]
    if stored is not None:
        return r.build.call(Site(r.frame.scope, line_of(node), stored, arguments, [], 0, of))
    result = r.call(node, r.attribute(of, method), arguments)
    return method_effects(r, node, of, method, arguments, result)


def _super(r: Reader) -> Expr:
    return r.build.expr(Op.SUPER, r.frame.class_scope) if r.frame.class_scope >= 0 else 0


def super_value(r: Reader, _node: Node, _name: str) -> Expr:
    return _super(r)


def jsx_element(r: Reader, node: Node, _name: str) -> Expr:
    """A component is called with its attributes; what is written small is an element of the page."""
    opening = field_of(node, "open_tag") or node
    tag = field_of(opening, "name")
    pairs: list[list[Expr]] = []
    for child in opening.named_children:
        if child.type == "jsx_attribute":
            pairs.extend(_attribute(r, child))
        elif child.type == "jsx_expression":
            pairs.extend([0, r.build.expr(Op.SPREAD, r.value(inner))] for inner in _spread(child))
    children = [
        r.value(child) for child in node.named_children if child != opening and child.type != "jsx_closing_element"
    ]
    pairs.append([r.key("children"), r.build.union(children)])
    if tag is not None and (tag.type != "identifier" or text_of(tag)[:1].isupper()):
        r.call(opening, r.value(tag), [r.build.literal(Op.OBJECT, pairs)])
    return r.external("element")


def _spread(node: Node) -> list[Node]:
    return [inner for child in node.named_children if child.type == "spread_element" for inner in child.named_children]


def _attribute(r: Reader, node: Node) -> list[list[Expr]]:
    parts = node.named_children
    if len(parts) < 2:
        return []
    return [[r.key(text_of(parts[0])), r.value(parts[1])]]


def jsx_expression(r: Reader, node: Node, _name: str) -> Expr:
    value = 0
    for child in node.named_children:
        value = r.value(child)
    return value
