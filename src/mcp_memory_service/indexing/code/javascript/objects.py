"""Object and array literals."""

from tree_sitter import Node

from ..facts import Expr, Op
from .functions import anonymous_name, define_function
from .patterns import is_index, key_name, written_key
from .reader import Reader, field_of, text_of


def object_literal(r: Reader, node: Node, name: str) -> Expr:
    """`name` is what its entries are named below."""
    path = name or r.frame.path
    itself = r.build.slot()
    pairs: list[list[Expr]] = []
    before = r.object_slot
    r.object_slot = itself
    for child in node.named_children:
        pairs.extend(_entries(r, child, path))
    r.object_slot = before
    value = r.build.literal(Op.OBJECT, pairs)
    r.build.bind(itself, value)
    if r.prototype_of >= 0:
        r.build.bind(itself, r.build.expr(Op.SELF, r.prototype_of))
        r.prototype_of = -1
    return value


def _entries(r: Reader, node: Node, path: str) -> list[list[Expr]]:
    kind = node.type
    if kind == "pair":
        return [_pair(r, node, path)]
    if kind == "method_definition":
        return [_method(r, node, path)]
    if kind == "shorthand_property_identifier":
        name = text_of(node)
        return [[r.key(name), r.mentioned(r.variables.read(name), node)]]
    if kind == "spread_element" and node.named_children:
        return [[0, r.build.expr(Op.SPREAD, r.value(node.named_children[0]))]]
    return []


def _pair(r: Reader, node: Node, path: str) -> list[Expr]:
    key, value = field_of(node, "key"), field_of(node, "value")
    name = key_name(r, key)
    if key is not None and key.type == "computed_property_name":
        r.value(key)
    written = written_key(r, key)
    if written == "__proto__":
        return [0, r.build.expr(Op.SPREAD, r.value(value))]
    path = f"{path}.{written}" if written else ""
    if value is not None and value.type in {"function_expression", "generator_function"}:
        return [_key(r, name), own_method(r, value, path, r.slot_value(r.object_slot))]
    return [_key(r, name), r.value(value, path)]


def _key(r: Reader, name: str | None) -> Expr:
    return 0 if name is None else r.key(int(name) if is_index(name) else name)


def own_method(r: Reader, node: Node, path: str, this: Expr) -> Expr:
    """A function that becomes a property of an object: that is `this` in it, unless it is called on another one."""
    number = r.scope_of(node)
    if number is None:
        return 0
    own = text_of(field_of(node, "name"))
    if own:
        path = f"{path.rpartition('.')[0] or r.frame.path}.{own}"
    define_function(r, node, number, path or anonymous_name(r), "method", this)
    return r.symbol(number)


def _method(r: Reader, node: Node, path: str) -> list[Expr]:
    name = key_name(r, field_of(node, "name"))
    written = written_key(r, field_of(node, "name"))
    value = own_method_definition(r, node, f"{path}.{written}" if written else anonymous_name(r))
    if any(child.type == "set" for child in node.children):
        return [r.key(f"set {name}"), value]
    return [r.key(name) if name is not None else 0, value]


def own_method_definition(r: Reader, node: Node, path: str) -> Expr:
    number = r.scope_of(node)
    if number is None:
        return 0
    define_function(r, node, number, path, "method", r.slot_value(r.object_slot))
    return r.symbol(number)


def array_literal(r: Reader, node: Node, _name: str) -> Expr:
    return r.build.literal(
        Op.SEQUENCE, [argument(r, child) for child in node.named_children if child.type != "comment"]
    )


def argument(r: Reader, node: Node, name: str = "") -> Expr:
    """An element of an array or an argument of a call."""
    if node.type == "spread_element" and node.named_children:
        return r.build.expr(Op.SPREAD, r.value(node.named_children[0]))
    return r.value(node, name)
