"""Loops: what the end of a body binds may reach its beginning."""

from tree_sitter import Node

from ..facts import Op
from .reader import Reader, element, text_of
from .targets import bind_pattern


def for_(r: Reader, node: Node) -> None:
    iterable = r.expr(node.child_by_field_name("right"))
    names = _enter(r, node)
    left = node.child_by_field_name("left")
    if left is not None:
        bind_pattern(r, left, element(r, node, iterable, is_async=node.children[0].type == "async"))
    r.block(node.child_by_field_name("body"))
    _leave(r, names, node)


def while_(r: Reader, node: Node) -> None:
    names = _enter(r, node)
    r.expr(node.child_by_field_name("condition"))
    r.block(node.child_by_field_name("body"))
    _leave(r, names, node)


def break_(r: Reader, node: Node) -> None:
    if r.frame.loops:
        _come_back(r, r.frame.loops[-1])
    r.frame.is_dead = True


def _enter(r: Reader, node: Node) -> dict[str, int]:
    slots: dict[str, int] = {}
    for name in sorted(bound_names(node)):
        if name not in r.shared_names:
            before = r.frame.names.get(name)
            slots[name] = r.build.slot(*([before] if before else []))
            r.frame.bind(name, r.build.expr(Op.SLOT, slots[name]))
    r.frame.loops.append(slots)
    return slots


def _come_back(r: Reader, slots: dict[str, int]) -> None:
    if r.frame.is_dead:
        return
    for name, slot in slots.items():
        value = r.frame.names.get(name)
        if value and value != r.build.expr(Op.SLOT, slot) and value not in r.build.facts.slots[slot]:
            r.build.bind(slot, value)


def _leave(r: Reader, slots: dict[str, int], node: Node) -> None:
    _come_back(r, slots)
    r.frame.loops.pop()
    r.frame.is_dead = False
    for name, slot in slots.items():
        r.frame.bind(name, r.build.expr(Op.SLOT, slot))
    otherwise = node.child_by_field_name("alternative")
    if otherwise is not None:
        r.block(otherwise.child_by_field_name("body"))


_PARTS = {
    "block", "if_statement", "elif_clause", "else_clause", "for_statement", "while_statement", "try_statement",
    "except_clause", "except_group_clause", "finally_clause", "with_statement", "with_clause", "with_item",
    "as_pattern",
    "match_statement", "case_clause", "expression_statement", "import_from_statement", "import_statement",
    "aliased_import", "decorated_definition",
}  # fmt: skip
_PATTERNS = {
    "pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "as_pattern_target", "tuple", "list",
    "parenthesized_expression",
}  # fmt: skip


def bound_names(loop: Node) -> set[str]:
    """What the statements of a loop may bind. Assignment expressions are left out: they are hardly read before."""
    names: set[str] = set()
    left = loop.child_by_field_name("left")
    patterns = [left] if left is not None else []
    rest = [body] if (body := loop.child_by_field_name("body")) is not None else []
    while rest:
        for child in rest.pop().named_children:
            kind = child.type
            if kind in _PARTS:
                rest.append(child)
            if kind in ("assignment", "for_statement"):
                found = child.child_by_field_name("left")
                patterns.extend([found] if found is not None else [])
                right = child.child_by_field_name("right")
                if right is not None and right.type == "assignment":
                    rest.append(child)
            elif kind in ("as_pattern_target", "function_definition", "class_definition", "dotted_name"):
                found = child.child_by_field_name("name") or child
                patterns.append(found)
    while patterns:
        pattern = patterns.pop()
        if pattern.type == "identifier":
            names.add(text_of(pattern))
        elif pattern.type in _PATTERNS:
            patterns.extend(pattern.named_children)
    return names
