"""Statements of Python: what they bind, and which branches lead where."""

from tree_sitter import Node

from ..facts import Expr, Op, Site, SiteFlag
from .definitions import class_, decorated, function
from .flow import Branches, Frame, unite
from .imports import import_, import_from
from .loops import break_, for_, while_
from .matching import match
from .narrowing import Known, narrowed
from .reader import Reader, StatementReader, line_of, operation, text_of
from .targets import assign, bind_pattern


def expression(r: Reader, node: Node) -> None:
    for child in node.named_children:
        r.expr(child)


def if_(r: Reader, node: Node) -> None:
    condition = node.child_by_field_name("condition")
    r.expr(condition)
    branches = Branches(r.frame, r.build)
    failed: Known = []
    _way(r, branches, failed, condition, node.child_by_field_name("consequence"))
    has_else = False
    for clause in node.children_by_field_name("alternative"):
        has_else = clause.type == "else_clause"
        body = clause.child_by_field_name("body" if has_else else "consequence")
        _way(r, branches, failed, clause.child_by_field_name("condition"), body, is_elif=not has_else)
    if not has_else:
        branches.begin()
        if branches.all_dead():
            r.frame.names.update(failed)
        branches.end()
    branches.join()


def _way(
    r: Reader, branches: Branches, failed: Known, condition: Node | None, body: Node | None, *, is_elif: bool = False
) -> None:
    branches.begin()
    before = r.frame.names
    r.frame.names = {**before, **dict(failed)}
    if is_elif:
        r.expr(condition)
    holds, fails = narrowed(r, condition)
    r.frame.names.update(holds)
    r.block(body)
    _widen(r, failed + holds, before)
    branches.end()
    failed.extend(fails)


def _widen(r: Reader, known: Known, before: dict[str, Expr]) -> None:
    """After a branch, a variable is what it was before a test of its type, unless it was bound again."""
    for name, value in known:
        if r.frame.names.get(name) == value:
            if name in before:
                r.frame.names[name] = before[name]
            else:
                del r.frame.names[name]


def assert_(r: Reader, node: Node) -> None:
    expression(r, node)
    if node.named_children:
        holds, _ = narrowed(r, node.named_children[0])
        r.frame.names.update(holds)


def try_(r: Reader, node: Node) -> None:
    frame = r.frame
    outer_log, frame.log = frame.log, []
    before, was_dead = dict(frame.names), frame.is_dead
    r.block(node.child_by_field_name("body"))
    log, frame.log = frame.log, outer_log
    if outer_log is not None:
        outer_log.extend(log)
    after, is_dead = frame.names, frame.is_dead
    thrown = unite([before, *({name: value} for name, value in log)], r.build)
    frame.names = thrown
    branches = Branches(frame, r.build)
    frame.is_dead = was_dead
    finally_: Node | None = None
    otherwise: Node | None = None
    for clause in node.named_children:
        if clause.type.startswith("except"):
            branches.begin()
            frame.is_dead = was_dead
            _handler(r, clause)
            branches.end()
        elif clause.type == "finally_clause":
            finally_ = clause
        elif clause.type == "else_clause":
            otherwise = clause
    frame.names, frame.is_dead = after, is_dead
    if otherwise is not None:
        r.block(otherwise.child_by_field_name("body"))
    branches.end()
    branches.join()
    if finally_ is not None:
        for child in finally_.named_children:
            r.block(child)


def _handler(r: Reader, clause: Node) -> None:
    for child in clause.named_children:
        if child.type == "block":
            r.block(child)
        elif child.type == "as_pattern":
            caught = child.named_children[0]
            kinds = [r.expr(each) for each in (caught.named_children if caught.type == "tuple" else [caught])]
            value = r.build.union([r.build.expr(Op.INSTANCE, kind) for kind in kinds if kind])
            bind_pattern(r, child.child_by_field_name("alias"), value)
        elif child.type != "comment":
            r.expr(child)


def with_(r: Reader, node: Node) -> None:
    is_async = bool(node.children) and node.children[0].type == "async"
    for clause in node.named_children:
        if clause.type == "with_clause":
            for item in clause.named_children:
                _with_item(r, item, is_async=is_async)
    r.block(node.child_by_field_name("body"))


def _with_item(r: Reader, item: Node, *, is_async: bool) -> None:
    value = item.child_by_field_name("value")
    if value is None:
        return
    alias = value.child_by_field_name("alias") if value.type == "as_pattern" else None
    manager = r.expr(value.named_children[0] if value.type == "as_pattern" else value)
    entered = operation(r, item, manager, "__aenter__" if is_async else "__enter__")
    operation(r, item, manager, "__aexit__" if is_async else "__exit__")
    if alias is not None:
        bind_pattern(r, alias, entered)


def return_(r: Reader, node: Node) -> None:
    for child in node.named_children:
        if child.type != "comment":
            r.build.facts.scopes[r.frame.scope].returns.append(r.expr(child))
    r.frame.is_dead = True


def raise_(r: Reader, node: Node) -> None:
    for child in node.named_children:
        if child.type in ("identifier", "attribute"):
            value = r.expr(child)
            r.build.call(Site(r.frame.scope, line_of(child), value, [], [], SiteFlag.RAISE | SiteFlag.IMPLICIT))
        else:
            r.expr(child)
    r.frame.is_dead = True


def delete(r: Reader, node: Node) -> None:
    targets = node.named_children
    if len(targets) == 1 and targets[0].type == "expression_list":
        targets = targets[0].named_children
    for target in targets:
        if target.type == "subscript":
            of = r.expr(target.child_by_field_name("value"))
            for key in target.children_by_field_name("subscript"):
                r.expr(key)
            operation(r, target, of, "__delitem__")
        elif target.type != "identifier":
            r.expr(target)


def augmented(r: Reader, node: Node) -> None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    added = r.expr(right)
    if left is None:
        return
    of = r.expr(left)
    operator = node.child_by_field_name("operator")
    method = _IN_PLACE.get(operator.type if operator else "")
    if method is not None:
        operation(r, node, of, f"__i{method}__", added)
        operation(r, node, of, f"__{method}__", added)
    if method == "add" and of and r.op(of) not in (Op.EXTERNAL, Op.KEY) and r.op(added) not in (Op.EXTERNAL, Op.KEY):
        r.build.facts.items.append([of, 0, r.build.expr(Op.ELEMENT, added)])


_IN_PLACE = {
    "+=": "add", "-=": "sub", "*=": "mul", "/=": "truediv", "//=": "floordiv", "%=": "mod", "@=": "matmul",
    "**=": "pow", "&=": "and", "|=": "or", "^=": "xor", "<<=": "lshift", ">>=": "rshift",
}  # fmt: skip


def shared(r: Reader, node: Node) -> None:
    """`global x`, `nonlocal x`: assignments from here on are to a scope around this one."""
    for child in node.named_children:
        name = text_of(child)
        frame = r.module if node.type == "global_statement" else _owner(r, name)
        r.frame.declared_global[name] = frame
        if name in frame.names:
            r.frame.names[name] = frame.names[name]


def _owner(r: Reader, name: str) -> Frame:
    frame = r.frame.outer
    while frame is not None and name not in frame.names and frame.outer is not None:
        frame = frame.outer
    return frame or r.module


def assignment(r: Reader, node: Node) -> None:
    assign(r, node)


def type_alias(r: Reader, node: Node) -> None:
    left = node.child_by_field_name("left")
    if left is not None:
        r.bind(text_of(left).partition("[")[0], 0)


STATEMENTS: dict[str, StatementReader] = {
    "expression_statement": expression,
    "if_statement": if_,
    "for_statement": for_,
    "while_statement": while_,
    "break_statement": break_,
    "continue_statement": break_,
    "try_statement": try_,
    "with_statement": with_,
    "match_statement": match,
    "return_statement": return_,
    "raise_statement": raise_,
    "delete_statement": delete,
    "assert_statement": assert_,
    "augmented_assignment": augmented,
    "assignment": assignment,
    "function_definition": function,
    "class_definition": class_,
    "decorated_definition": decorated,
    "import_statement": import_,
    "import_from_statement": import_from,
    "global_statement": shared,
    "nonlocal_statement": shared,
    "type_alias_statement": type_alias,
}
