"""What is assigned to variables, attributes, prototypes and exports."""

from tree_sitter import Node

from ..facts import Expr, Op
from .exports import export_value, exports_object
from .functions import define_function
from .objects import own_method
from .patterns import constant_key, destructure
from .reader import Reader, field_of, line_of, text_of

_FUNCTIONS = frozenset({"function_expression", "generator_function"})
KEYS = frozenset({Op.KEY, Op.SLOT, Op.MEMBER, Op.ATTR, Op.UNION})
"""What may be a constant key, known from other places."""
_LOGICAL = frozenset({"||=", "&&=", "??="})


def assignment(r: Reader, node: Node, _name: str) -> Expr:
    left, right = field_of(node, "left"), field_of(node, "right")
    if left is None or right is None:
        return 0
    while left.type in {"parenthesized_expression", "non_null_expression"} and left.named_children:
        left = left.named_children[0]
    value = _assigned_value(r, left, right)
    if node.type == "augmented_assignment_expression":
        if text_of(field_of(node, "operator")) not in _LOGICAL:
            r.value(left)
            return r.external("operator")
        value = r.build.union((r.value(left), value))
    if left.type == "identifier":
        if not r.global_name(left, {"exports", "module"}):
            r.variables.assign_name(text_of(left), value)
    elif left.type in {"member_expression", "subscript_expression"}:
        assign_member(r, left, value)
    else:
        destructure(r, left, value, declares=False)
    return value


def _assigned_value(r: Reader, left: Node, right: Node) -> Expr:
    if right.type in {"object", "class"} and exports_object(r, left):
        return r.value(right, r.module.path if right.type == "object" else f"{r.module.path}.exports")
    path = _target_path(r, left)
    if left.type != "member_expression":
        return r.value(right, path)
    of = field_of(left, "object")
    owner = prototype_owner(r, of)
    if owner is not None and right.type in _FUNCTIONS:
        return _prototype_method(r, right, path, owner)
    if right.type == "object" and text_of(field_of(left, "property")) == "prototype":
        return _prototype_object(r, right, path, _function_number(r, of))
    if right.type in _FUNCTIONS and of is not None and of.type != "this" and not exports_object(r, left):
        return own_method(r, right, path, _this_slot(r, of))
    return r.value(right, path)


def _this_slot(r: Reader, of: Node) -> Expr:
    value = r.value(of)
    return r.slot_value(r.build.slot(value)) if value else 0


def _prototype_method(r: Reader, node: Node, path: str, owner: int) -> Expr:
    number = r.scope_of(node)
    if number is None:
        return 0
    own = text_of(field_of(node, "name"))
    path = f"{path.rpartition('.')[0]}.{own}" if own else path
    define_function(r, node, number, path, "method", r.build.expr(Op.SELF, owner), owner)
    return r.symbol(number)


def _prototype_object(r: Reader, node: Node, path: str, owner: int | None) -> Expr:
    if owner is not None:
        r.prototype_of = owner
    value = r.value(node, path)
    r.prototype_of = -1
    return value


def _target_path(r: Reader, left: Node) -> str:
    """The qualified name of what is assigned to; empty if it has none."""
    names: list[str] = []
    node: Node | None = left
    while node is not None and node.type in {"member_expression", "subscript_expression"}:
        if exports_object(r, node):
            break
        name = text_of(field_of(node, "property")) or constant_key(r, field_of(node, "index")) or ""
        if not name:
            return ""
        if name != "prototype":
            names.append(name.replace(".", "_"))
        node = field_of(node, "object")
    base = _base_path(r, node, bool(names))
    return ".".join([base, *reversed(names)]) if base else ""


def _base_path(r: Reader, node: Node | None, is_member: bool) -> str:
    if node is None:
        return ""
    if exports_object(r, node):
        return r.module.path if is_member else f"{r.module.path}.exports"
    if node.type == "this":
        owner = r.frame.class_scope
        return r.scope(owner).qualified_name if owner >= 0 else r.frame.path
    if node.type != "identifier":
        return r.frame.path if is_member else ""
    variable = r.variables.find(text_of(node))
    return f"{variable.home.path if variable is not None else r.module.path}.{text_of(node)}"


def prototype_owner(r: Reader, node: Node | None) -> int | None:
    """The number of the function or class whose prototype a node is."""
    if node is None:
        return None
    if node.type == "member_expression" and text_of(field_of(node, "property")) == "prototype":
        return _function_number(r, field_of(node, "object"))
    if node.type == "identifier":
        return r.prototypes.get(r.variables.read(text_of(node)))
    return None


def _function_number(r: Reader, node: Node | None) -> int | None:
    if node is None or node.type != "identifier":
        return None
    row = r.row(r.variables.read(text_of(node)))
    return row[1] if row[0] == Op.SYMBOL else None


def assign_member(r: Reader, left: Node, value: Expr) -> None:
    of_node = field_of(left, "object")
    if of_node is None:
        return
    if left.type == "subscript_expression":
        _assign_item(r, left, of_node, value)
        return
    name = text_of(field_of(left, "property"))
    if exports_object(r, left):
        export_value(r, "=", value)
    elif exports_object(r, of_node):
        export_value(r, name, value)
    else:
        store(r, left, of_node, name, value)


def _assign_item(r: Reader, left: Node, of_node: Node, value: Expr) -> None:
    index = field_of(left, "index")
    name = constant_key(r, index)
    if name is not None and index is not None and index.type != "number":
        if exports_object(r, of_node):
            export_value(r, name, value)
        else:
            store(r, left, of_node, name, value)
        return
    of = r.value(of_node)
    key = r.value(index)
    r.build.facts.items.append([of, key if r.op(key) in KEYS else 0, value])


def store(r: Reader, node: Node, of_node: Node, name: str, value: Expr) -> None:
    owner = prototype_owner(r, of_node)
    if owner is not None:
        members = r.scope(owner).members
        members[name] = r.build.union((members.get(name, 0), value))
        return
    if name == "prototype":
        number = _function_number(r, of_node)
        if number is not None:
            _replace_prototype(r, number, value)
            return
    store_on(r, node, r.value(of_node), name, value)


def store_on(r: Reader, node: Node, of: Expr, name: str, value: Expr) -> None:
    r.frame.stored.clear()
    if of and value:
        r.frame.stored[of, name] = value
    row = r.row(of)
    if row[0] == Op.SYMBOL:
        members = r.scope(row[1]).members
        members[name] = r.build.union((members.get(name, 0), value))
        return
    number = r.frame.class_scope
    if of == r.frame.this and number >= 0:
        scope = r.scope(number)
        if r.op(of) != Op.CLS:
            if value:
                scope.attributes.setdefault(name, []).append(value)
            if r.op(of) == Op.SELF and name not in scope.setters:
                return
        else:
            scope.members.setdefault(name, value)
    r.build.facts.stores.append([r.frame.scope, line_of(node), of, name, value])


def _replace_prototype(r: Reader, number: int, value: Expr) -> None:
    """`F.prototype = {...}`, `= Object.create(G.prototype)`, `= new G()`"""
    scope = r.scope(number)
    row = r.row(value)
    for name, entry in entries_of(r, value):
        scope.members[name] = entry
    if row[0] == Op.PROTOTYPE:
        scope.bases.append(row[1])
    elif row[0] == Op.CALL:
        scope.bases.append(r.build.facts.sites[int(row[1])].callee)


def entries_of(r: Reader, value: Expr) -> list[tuple[str, Expr]]:
    """The names of an object literal, with their values."""
    row = r.build.facts.exprs[value]
    if row[0] != Op.OBJECT:
        return []
    keys = [(r.build.facts.exprs[key], entry) for key, entry in row[1]]
    return [(str(key[1]), entry) for key, entry in keys if key[0] == Op.KEY]
