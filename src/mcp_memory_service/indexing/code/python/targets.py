"""What an assignment binds: names, attributes, items, and patterns of them."""

from tree_sitter import Node

from ..facts import SCALARS, Expr, Op
from .annotations import declared
from .definitions import lambda_named
from .reader import Reader, attribute_key, element, line_of, operation, text_of

# A literal that more statements add to is one object for all of them.
MAX_CHANGES = 20


def assign(r: Reader, node: Node) -> Expr:
    """`a = b = value`, `a: T = value`, `a: T`."""
    right = node.child_by_field_name("right")
    left = node.child_by_field_name("left")
    if right is not None and right.type == "lambda" and left is not None and left.type == "identifier":
        value = lambda_named(r, right, text_of(left))
    else:
        value = r.expr(right)
    annotation = node.child_by_field_name("type")
    if annotation is not None and left is not None:
        _annotated(r, left, annotation, value, is_assigned=right is not None)
    elif left is not None:
        bind_pattern(r, left, value)
    return value


def _annotated(r: Reader, left: Node, annotation: Node, value: Expr, *, is_assigned: bool) -> None:
    if r.frame.is_class and left.type == "identifier":
        name, scope, frame = text_of(left), r.frame.scope, r.frame
        r.later(lambda: _declare(r, frame.scope, name, annotation), frame)
        if is_assigned:
            r.bind(name, value)
        else:
            r.build.facts.scopes[scope].attributes.setdefault(name, [])
        return
    promised = declared(r, annotation)
    row = r.build.facts.exprs[promised]
    is_scalar = row[0] == Op.EXTERNAL and row[1] in SCALARS
    bind_pattern(r, left, promised if is_scalar else r.build.union([value, promised]))


def _declare(r: Reader, scope: int, name: str, annotation: Node) -> None:
    """An annotation of a class body may name what comes below it."""
    promised = declared(r, annotation)
    r.build.facts.scopes[scope].attributes.setdefault(name, []).extend([promised] if promised else [])


def bind_pattern(r: Reader, target: Node | None, value: Expr) -> None:
    if target is None:
        return
    kind = target.type
    if kind == "identifier":
        r.bind(r.text(target), value)
    elif kind == "attribute":
        _bind_attribute(r, target, value)
    elif kind == "subscript":
        _bind_item(r, target, value)
    elif kind in ("list_splat_pattern", "list_splat", "parenthesized_expression", "as_pattern_target"):
        bind_pattern(r, target.named_children[0] if target.named_children else None, value)
    elif kind in ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "list", "expression_list"):
        _bind_parts(r, [child for child in target.named_children if child.type != "comment"], value)


def _bind_attribute(r: Reader, target: Node, value: Expr) -> None:
    of = r.expr(target.child_by_field_name("object"))
    attribute = target.child_by_field_name("attribute")
    name = text_of(attribute) if attribute else ""
    row = r.build.facts.exprs[of]
    if row[0] in (Op.SELF, Op.CLS):
        r.build.facts.scopes[row[1]].attributes.setdefault(name, []).append(value)
    if r.frame.has_narrowed_attributes:
        r.frame.names.pop(attribute_key(r.build.expr(Op.ATTR, of, name)), None)
    r.build.facts.stores.append([r.frame.scope, line_of(attribute or target), of, name, value])


def _bind_item(r: Reader, target: Node, value: Expr) -> None:
    of = r.expr(target.child_by_field_name("value"))
    keys = target.children_by_field_name("subscript")
    key = r.expr(keys[0]) if len(keys) == 1 and keys[0].type != "slice" else 0
    if len(keys) != 1 or keys[0].type == "slice":
        for each in keys:
            r.expr(each)
    operation(r, target, of, "__setitem__", key)
    r.build.facts.items.append([of, key, value])
    place = target.child_by_field_name("value")
    if place is not None and place.type == "identifier" and key:
        put_under(r, text_of(place), of, key, value)


def put_under(r: Reader, name: str, of: Expr, key: Expr, value: Expr) -> None:
    """From here on a variable with a literal holds one that has the value in place of what stood there."""
    row, index = r.build.facts.exprs[of], r.build.facts.exprs[key]
    if index[0] != Op.KEY or r.frame.names.get(name) != of or name in r.shared_names:
        return
    if row[0] == Op.MAPPING and r.changes.get(of, 0) < MAX_CHANGES:
        changed = r.build.literal(Op.MAPPING, [[0, r.build.expr(Op.SPREAD, of)], [key, value]])
    elif row[0] == Op.SEQUENCE and isinstance(index[1], int) and index[1] < len(row[1]) <= MAX_CHANGES:
        changed = r.build.literal(Op.SEQUENCE, [*row[1][: index[1]], value, *row[1][index[1] + 1 :]])
    else:
        return
    r.changes[changed] = r.changes.get(of, 0) + 1
    r.bind(name, changed)


def _bind_parts(r: Reader, targets: list[Node], value: Expr) -> None:
    row = r.build.facts.exprs[value]
    starred = next((i for i, each in enumerate(targets) if each.type in ("list_splat_pattern", "list_splat")), -1)
    elements: list[Expr] = row[1] if row[0] == Op.SEQUENCE else []
    if elements and not any(r.op(each) == Op.SPREAD for each in elements):
        _bind_elements(r, targets, elements, starred)
        return
    if value and targets:
        element(r, targets[0], value)
    for i, target in enumerate(targets):
        if starred < 0 or i < starred:
            part = r.build.expr(Op.ITEM, value, r.build.expr(Op.KEY, i)) if value else 0
        else:
            part = r.build.expr(Op.SLICE, value, starred, None) if i == starred else r.build.expr(Op.ELEMENT, value)
        bind_pattern(r, target, part)


def _bind_elements(r: Reader, targets: list[Node], elements: list[Expr], starred: int) -> None:
    rest = len(elements) - len(targets) + 1
    for i, target in enumerate(targets):
        if starred >= 0 and i == starred:
            bind_pattern(r, target, r.build.literal(Op.SEQUENCE, elements[i : i + max(rest, 0)]))
        else:
            place = i if starred < 0 or i < starred else i + rest - 1
            bind_pattern(r, target, elements[place] if place < len(elements) else 0)
