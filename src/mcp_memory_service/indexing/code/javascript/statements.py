"""Statements: what they declare, and in which order their parts happen."""

from collections.abc import Iterator

from tree_sitter import Node

from ..facts import Expr, Op
from .assignments import prototype_owner
from .branches import BRANCHES
from .classes import (
    class_declaration,
    enum_declaration,
    interface_declaration,
    namespace_declaration,
    type_alias,
)
from .exports import export_statement, import_rows
from .functions import function_declaration, return_statement
from .grammars import bound_names
from .patterns import destructure
from .reader import Reader, StatementReader, field_of, text_of
from .types import declared_type, named_class
from .variables import Variable

_PRECISE = frozenset({"new_expression", "object", "array", "arrow_function", "function_expression", "class"})
"""What is known better than by the type of the variable that it is assigned to."""


def hoist(r: Reader, block: Node) -> None:
    """Declares what a list of statements declares."""
    for child in block.named_children:
        for node in _declarations(child):
            _declare(r, node)


def _declarations(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == "export_statement":
            inner = field_of(one, "declaration")
            waiting.extend([inner] if inner is not None else [])
        elif one.type in {"ambient_declaration", "statement_block"} and (
            one is not node or one.type != "statement_block"
        ):
            waiting.extend(reversed(one.named_children))
        elif one.type == "expression_statement" and one.named_children:
            inner = one.named_children[0]
            waiting.extend([inner] if inner.type == "internal_module" else [])
        else:
            yield one


def _declare(r: Reader, node: Node) -> None:
    kind = node.type
    if kind in {"lexical_declaration", "using_declaration"}:
        for each in node.named_children:
            pattern = field_of(each, "name")
            for name in bound_names(pattern) if pattern is not None else ():
                r.variables.declare(name)
    elif kind == "import_statement":
        import_rows(r, node)
    elif kind == "import_alias":
        _import_alias(r, node)
    elif kind in {"interface_declaration", "type_alias_declaration"}:
        _declare_type(r, node)
    else:
        _declare_symbol(r, node)


def _declare_symbol(r: Reader, node: Node) -> None:
    number = r.scope_of(node)
    name = text_of(field_of(node, "name")).partition(".")[0]
    if number is None or (not name.isidentifier() and not name.replace("$", "_").isidentifier()):
        return
    if field_of(node, "name") is None or node.type not in _NAMED:
        return
    known = r.variables.block.names.get(name)
    symbol = _outer_namespace(r, node, number)
    before = known.steady if known is not None else 0
    variable = r.variables.declare(name, steady=symbol)
    if before and variable.steady:
        variable.steady = r.build.union((before, symbol))


def _outer_namespace(r: Reader, node: Node, number: int) -> Expr:
    """Of `namespace A.B` what stands for A: something that has B."""
    value = r.symbol(number)
    for name in reversed(text_of(field_of(node, "name")).split(".")[1:]):
        value = r.build.literal(Op.OBJECT, [[r.key(name), value]])
    return value


_NAMED = frozenset(
    "function_declaration generator_function_declaration class_declaration abstract_class_declaration enum_declaration "
    "internal_module module function_signature".split()
)


def _import_alias(r: Reader, node: Node) -> None:
    parts = node.named_children
    if len(parts) == 2:
        r.variables.declare(text_of(parts[0]), steady=named_class(r, parts[1]))


def _declare_type(r: Reader, node: Node) -> None:
    number = r.scope_of(node)
    name = text_of(field_of(node, "name"))
    if number is None:
        return
    types = r.variables.block.types
    value = field_of(node, "value")
    if node.type == "type_alias_declaration" and value is not None and value.type != "object_type":
        r.alias_slots[node.id] = r.build.slot()
        types[name] = r.slot_value(r.alias_slots[node.id])
    else:
        types[name] = r.build.union((types.get(name, 0), r.build.expr(Op.INSTANCE, r.symbol(number))))


def block(r: Reader, node: Node) -> None:
    with r.inside(node):
        r.statement_list(node)


def expression_statement(r: Reader, node: Node) -> None:
    for child in node.named_children:
        if child.type == "internal_module":
            r.statement(child)
        else:
            r.value(child)


def declaration(r: Reader, node: Node) -> None:
    for child in node.named_children:
        if child.type == "variable_declarator":
            _declarator(r, child, is_constant=node.children[0].type == "const")


def _declarator(r: Reader, node: Node, *, is_constant: bool) -> None:
    pattern, right = field_of(node, "name"), field_of(node, "value")
    if pattern is None:
        return
    declared = declared_type(r, field_of(node, "type"))
    if pattern.type != "identifier":
        destructure(r, pattern, r.build.union((r.value(right), declared)), declares=True)
        return
    name = text_of(pattern)
    variable = r.variables.find(name) or r.variables.declare(name)
    value = r.value(right, f"{variable.home.path}.{name}")
    if declared and (right is None or right.type not in _PRECISE):
        value = r.build.union((value, declared))
    if right is not None or declared:
        r.variables.assign(variable, value)
    if value and _never_again(r, variable, node, is_constant=is_constant):
        variable.steady = value
    owner = _prototype_of(r, right)
    if owner is not None:
        r.prototypes[value] = owner


def _prototype_of(r: Reader, node: Node | None) -> int | None:
    return prototype_owner(r, node) if node is not None and node.type == "member_expression" else None


def _never_again(r: Reader, variable: Variable, node: Node, *, is_constant: bool) -> bool:
    if variable.home is not r.frame:
        return False
    if is_constant:
        return True
    is_var = node.parent is not None and node.parent.type == "variable_declaration"
    return not r.variables.is_written(variable.name, r.variables.module, at_most=int(is_var))


def parts(r: Reader, node: Node) -> None:
    for child in node.named_children:
        r.statement(child)


def nothing(_r: Reader, _node: Node) -> None:
    return


STATEMENTS: dict[str, StatementReader] = {
    **BRANCHES,
    "statement_block": block,
    "expression_statement": expression_statement,
    "lexical_declaration": declaration,
    "variable_declaration": declaration,
    "using_declaration": declaration,
    "function_declaration": function_declaration,
    "generator_function_declaration": function_declaration,
    "function_signature": function_declaration,
    "class_declaration": class_declaration,
    "abstract_class_declaration": class_declaration,
    "interface_declaration": interface_declaration,
    "type_alias_declaration": type_alias,
    "enum_declaration": enum_declaration,
    "internal_module": namespace_declaration,
    "module": namespace_declaration,
    "ambient_declaration": parts,
    "export_statement": export_statement,
    "import_statement": nothing,
    "import_alias": nothing,
    "else_clause": parts,
    "finally_clause": parts,
    "labeled_statement": parts,
    "return_statement": return_statement,
    "comment": nothing,
    "empty_statement": nothing,
    "break_statement": nothing,
    "continue_statement": nothing,
}
