"""`match`: what patterns bind and make sure."""

from tree_sitter import Node

from ..facts import Expr, Op
from .flow import Branches
from .reader import Reader, text_of

_SEQUENCES = ("list_pattern", "tuple_pattern")
_MAX_DEPTH = 30


def match(r: Reader, node: Node) -> None:
    subjects = node.children_by_field_name("subject")
    value = r.expr(subjects[0]) if len(subjects) == 1 else 0
    name = text_of(subjects[0]) if len(subjects) == 1 and subjects[0].type == "identifier" else ""
    branches = Branches(r.frame, r.build)
    body = node.child_by_field_name("body")
    for clause in body.named_children if body is not None else []:
        if clause.type == "case_clause":
            branches.begin()
            _case(r, clause, value, name)
            branches.end()
    branches.skip()
    branches.join()


def _case(r: Reader, clause: Node, subject: Expr, name: str) -> None:
    for child in clause.named_children:
        if child.type == "case_pattern":
            before = r.frame.names.get(name)
            narrowed = _pattern(r, child, subject)
            if name and before is not None and narrowed != subject:
                r.frame.names[name] = narrowed
        elif child.type == "block":
            r.block(child)
        else:
            r.expr(child)


def _pattern(r: Reader, node: Node, value: Expr, depth: int = 0) -> Expr:  # noqa: C901 - a case for each form
    """Binds what the pattern binds; gives what the value is where it fits."""
    kind = node.type
    parts = [child for child in node.named_children if child.type != "comment"]
    if depth > _MAX_DEPTH:
        return value
    if kind == "case_pattern":
        return _pattern(r, parts[0], value, depth + 1) if parts else value
    if kind == "as_pattern":
        found = _pattern(r, parts[0], value, depth + 1)
        r.bind(text_of(parts[-1]), found)
        return found
    if kind == "union_pattern":
        return r.build.union([_pattern(r, part, value, depth + 1) for part in parts])
    if kind == "class_pattern":
        return _class(r, parts, depth)
    if kind in _SEQUENCES:
        for i, part in enumerate(parts):
            _pattern(r, part, r.build.expr(Op.ITEM, value, r.build.expr(Op.KEY, i)), depth + 1)
    elif kind == "dict_pattern":
        for part in node.children_by_field_name("value"):
            _pattern(r, part, r.build.expr(Op.ITEM, value, 0), depth + 1)
    elif kind in ("dotted_name", "identifier") and "." not in text_of(node) and text_of(node) != "_":
        r.bind(text_of(node), value)
    elif kind == "splat_pattern" and parts:
        r.bind(text_of(parts[0]), 0)
    return value


def _class(r: Reader, parts: list[Node], depth: int) -> Expr:
    names = text_of(parts[0]).split(".")
    class_ = r.name(names[0])
    for name in names[1:]:
        class_ = r.build.expr(Op.ATTR, class_, name)
    r.read(class_, parts[0])
    value = r.build.expr(Op.INSTANCE, class_)
    for part in parts[1:]:
        inner = part.named_children[0] if part.type == "case_pattern" and part.named_children else part
        if inner.type == "keyword_pattern" and len(inner.named_children) == 2:
            name, nested = inner.named_children
            _pattern(r, nested, r.build.expr(Op.ATTR, value, text_of(name)), depth + 1)
        else:
            _pattern(r, part, 0, depth + 1)
    return value
