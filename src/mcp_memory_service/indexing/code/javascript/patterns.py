"""What variables get that are bound by a pattern: `const {a, b: [c]} = d`."""

from collections.abc import Callable

from tree_sitter import Node

from ..facts import Expr, Op
from .grammars import bound_names
from .reader import Reader, field_of, string_of, text_of


def destructure(r: Reader, pattern: Node, value: Expr, *, declares: bool) -> None:
    """Binds the names of a pattern to the parts of a value; `declares` if they are new in this block."""
    kind = pattern.type
    if kind in {"identifier", "shorthand_property_identifier_pattern"}:
        _bind(r, text_of(pattern), value, declares=declares)
    elif kind == "array_pattern":
        _array(r, pattern, value, declares=declares)
    elif kind == "object_pattern":
        _object(r, pattern, value, declares=declares)
    elif kind in {"assignment_pattern", "object_assignment_pattern"}:
        left, right = field_of(pattern, "left"), field_of(pattern, "right")
        name = f"{r.frame.path}.{text_of(left)}" if left is not None and left.type.endswith("identifier") else ""
        default = r.value(right, name)
        if left is not None:
            destructure(r, left, r.build.union((value, default)), declares=declares)
    elif kind in {"member_expression", "subscript_expression"}:
        r.assign_member(pattern, value)
    elif kind == "rest_pattern" and pattern.named_children:
        destructure(r, pattern.named_children[0], value, declares=declares)
    else:
        for child in pattern.named_children:
            r.value(child)


def _bind(r: Reader, name: str, value: Expr, *, declares: bool) -> None:
    if not declares:
        r.variables.assign_name(name, value)
        return
    variable = r.variables.find(name) or r.variables.declare(name)
    r.variables.assign(variable, value)
    if value and not r.variables.is_written(name, r.variables.block) and variable.home is r.frame:
        variable.steady = variable.steady or value


def _array(r: Reader, pattern: Node, value: Expr, *, declares: bool) -> None:
    index = 0
    for child in pattern.children:
        if child.type == ",":
            index += 1
        elif child.is_named and child.type != "comment":
            if child.type == "rest_pattern":
                part = r.build.expr(Op.SLICE, value, index, None)
            else:
                part = r.build.expr(Op.ITEM, value, r.key(index))
            destructure(r, child, part, declares=declares)


def _object(r: Reader, pattern: Node, value: Expr, *, declares: bool) -> None:
    for child in pattern.named_children:
        kind = child.type
        if kind == "rest_pattern":
            destructure(r, child, value, declares=declares)
        elif kind == "pair_pattern":
            target = field_of(child, "value")
            name = key_name(r, field_of(child, "key"))
            if target is not None:
                destructure(r, target, _part(r, child, value, name), declares=declares)
        elif kind in {"shorthand_property_identifier_pattern", "object_assignment_pattern"}:
            name = (bound_names(child) or [""])[0]
            destructure(r, child, _part(r, child, value, name), declares=declares)


def _part(r: Reader, node: Node, value: Expr, name: str | None) -> Expr:
    if not value:
        return 0
    if name is None:
        return r.build.expr(Op.ITEM, value, 0)
    part = r.attribute(value, name)
    r.mentioned(part, node)
    return part


def key_name(r: Reader, node: Node | None) -> str | None:
    """The name of a property as it is written in an object, a class or a pattern; none if it is computed."""
    if node is None:
        return None
    if node.type == "computed_property_name":
        inner = node.named_children[0] if node.named_children else None
        return constant_key(r, inner)
    if node.type == "string":
        return string_of(node) or ""
    return text_of(node)


def written_key(r: Reader, node: Node | None) -> str:
    """What an entry is named by: its key, or the name that computes it; empty if that is no name."""
    name = key_name(r, node)
    inner = node.named_children[0] if node is not None and node.named_children else None
    if name is None and inner is not None:
        name = text_of(field_of(inner, "property") or inner if inner.type in _NAMES else None)
    return (name or "").replace(".", "_")


_NAMES = frozenset({"identifier", "member_expression"})


def constant_key(r: Reader, node: Node | None) -> str | None:
    """The key that an expression always gives: a literal, a constant that holds one, or `Symbol.iterator`."""
    if node is None:
        return None
    read = _CONSTANTS.get(node.type)
    return read(r, node) if read is not None else None


def _literal_key(_r: Reader, node: Node) -> str | None:
    return text_of(node) if node.type == "number" else string_of(node)


def _symbol_key(r: Reader, node: Node) -> str | None:
    of, name = field_of(node, "object"), field_of(node, "property")
    return f"@@{text_of(name)}" if r.global_name(of, {"Symbol"}) else None


def _joined_key(r: Reader, node: Node) -> str | None:
    if text_of(field_of(node, "operator")) != "+":
        return None
    parts = [constant_key(r, field_of(node, side)) for side in ("left", "right")]
    return None if None in parts else "".join(part for part in parts if part is not None)


def _inner_key(r: Reader, node: Node) -> str | None:
    return constant_key(r, node.named_children[0]) if node.named_children else None


def _named_key(r: Reader, node: Node) -> str | None:
    row = r.row(r.variables.read(text_of(node)))
    return str(row[1]) if row[0] == Op.KEY else None


_CONSTANTS: dict[str, Callable[[Reader, Node], str | None]] = {
    "string": _literal_key,
    "template_string": _literal_key,
    "number": _literal_key,
    "member_expression": _symbol_key,
    "binary_expression": _joined_key,
    "parenthesized_expression": _inner_key,
    "identifier": _named_key,
}


def is_index(key: str) -> bool:
    """Whether a key is the same as a number."""
    return key.isdecimal() and len(key) < 10 and (key == "0" or not key.startswith("0"))
